"""Encoders: questions, passages and their sentences to vectors."""
