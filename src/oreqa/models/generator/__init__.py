"""The question generator: from a passage with a marked answer to a question for it."""
