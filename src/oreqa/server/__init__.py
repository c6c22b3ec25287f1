"""Answers over HTTP: an API, and its access control."""
