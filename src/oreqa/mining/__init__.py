"""Training data found by models and by retrieval."""
