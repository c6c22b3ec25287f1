"""Answer extractors: they find which spans of a passage people ask about."""
