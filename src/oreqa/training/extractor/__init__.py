"""Answer extractors: which spans of a passage people ask about."""
