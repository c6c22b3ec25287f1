"""The weights that ship, and how trained models are packed."""
