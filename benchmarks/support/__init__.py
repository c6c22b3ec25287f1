"""What several benchmarks share. No benchmark imports another."""
