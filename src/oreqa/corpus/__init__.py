"""Files to documents, documents to passages: readers for each format, the sentence splitter and the passage splitter."""
