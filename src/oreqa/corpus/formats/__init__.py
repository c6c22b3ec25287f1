"""One reader a format: bytes of a file to a document."""
