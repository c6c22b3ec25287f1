"""Extractors: find the spans of a passage that people ask about."""
