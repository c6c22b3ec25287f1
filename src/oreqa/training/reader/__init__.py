"""Readers: which span answers, and which passage holds it."""
