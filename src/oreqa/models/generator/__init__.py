"""The question generator: a passage with a marked answer to the question that it answers."""
