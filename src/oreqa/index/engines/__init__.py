"""Engines hold the vectors and words of an index: in segments in its folder, or on a server."""
