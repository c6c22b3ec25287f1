"""Models: one folder per family, what the families share, and the models that ship."""
