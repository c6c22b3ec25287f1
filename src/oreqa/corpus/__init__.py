"""Files to documents to passages."""
