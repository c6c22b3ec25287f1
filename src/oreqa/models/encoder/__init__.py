"""Encoders: vectors of questions, passages and their sentences."""
