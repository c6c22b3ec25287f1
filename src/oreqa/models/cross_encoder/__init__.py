"""Cross-encoders: a question and a candidate answer to one score. The answer classifier and the span re-ranker."""
