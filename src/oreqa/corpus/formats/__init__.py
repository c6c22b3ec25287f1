"""One reader per format: from the bytes of a file to a document."""
