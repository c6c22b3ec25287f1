"""Cross-encoders: the answer classifier and the span re-ranker."""
