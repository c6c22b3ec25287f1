"""Readers: find the answer spans to a question in passages."""
