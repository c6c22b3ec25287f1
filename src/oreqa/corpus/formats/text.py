"""Plain text. The document's text is the file's own, decoded, with every line end as one ``\\n``.

Offsets are characters of that text: ``\\r\\n`` counts as one, a byte order mark as none.
"""

from __future__ import annotations

from pathlib import Path

from oreqa.core import Document, PageWords, Place
from oreqa.corpus.builder import count_words, file_title
from oreqa.corpus.decode import decode


def read_text(data: bytes, path: Path) -> Document:
    """A plain text file; its title is its file name."""
    text = decode(data)
    words = count_words(text)
    return Document(str(path), file_title(path), text, places=(Place(0, "", 1, 0),), pages=(PageWords("", words, words),))
