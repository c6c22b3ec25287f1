"""Word, PowerPoint, Excel and OpenDocument files: XML in archives, as e-books are."""
