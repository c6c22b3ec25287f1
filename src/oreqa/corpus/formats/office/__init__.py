"""Word, PowerPoint, Excel and OpenDocument files: XML in archives, like e-books."""
