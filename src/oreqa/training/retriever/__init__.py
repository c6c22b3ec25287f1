"""Dual encoders: questions and candidates as vectors."""
