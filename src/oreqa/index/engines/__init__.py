"""What holds the vectors and words of an index: the segments in its folder, or a server."""
