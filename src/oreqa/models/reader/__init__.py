"""Readers: a question and passages to answer spans."""
