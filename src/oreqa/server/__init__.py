"""Answers over HTTP: an API, and what guards it."""
