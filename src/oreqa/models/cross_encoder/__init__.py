"""Cross-encoders: score a question with a candidate answer. The answer classifier and the span re-ranker are both one."""
