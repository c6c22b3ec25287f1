"""Dual encoders: encode questions and candidates as vectors."""
