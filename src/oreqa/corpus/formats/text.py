"""Plain text. The document's text is the decoded file, with line ends normalised to ``\\n``.

Offsets count characters of that text: ``\\r\\n`` is one, and a byte order mark is none.
"""

from __future__ import annotations

from pathlib import Path

from oreqa.core import Document, PageWords, Place
from oreqa.corpus.builder import count_words, file_title
from oreqa.corpus.decode import decode


def read_text(data: bytes, path: Path) -> Document:
    """Read a plain text file. Its title is its file name."""
    text = decode(data)
    words = count_words(text)
    return Document(str(path), file_title(path), text, places=(Place(0, "", 1, 0),), pages=(PageWords("", words, words),))
