"""Text rules: sentences, lines, rows, names, whole words, cells, stop words, and how answers are compared."""
