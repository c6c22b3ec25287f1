"""Models: where they are found and what they are made of."""
