"""What several benchmarks share. A benchmark imports nothing of another one."""
