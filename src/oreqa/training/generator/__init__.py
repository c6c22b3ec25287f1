"""Question generators: from an answer in its context to the question."""
