"""Plain text. The document's text is the file's own, decoded, with every line end as one ``\\n``.

Offsets are characters of that text: ``\\r\\n`` counts as one, a byte order mark as none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oreqa.core import Document, PageWords, Place
from oreqa.corpus.builder import TextBuilder, count_words, file_title
from oreqa.corpus.decode import decode


def read_text(data: bytes, path: Path) -> Document:
    """A plain text file; its title is its file name."""
    text = decode(data)
    words = count_words(text)
    return Document(str(path), file_title(path), text, places=(Place(0, "", 1, 0),), pages=(PageWords("", words, words),))


def join_parts(path: Path, title: str, parts: Sequence[tuple[str, str]]) -> Document:
    """A document of extracted ``(heading, text)`` parts, each a section; its title is the file's name if there is none."""
    builder = TextBuilder(path)
    for heading, body in parts:
        if body.strip():
            if heading:
                builder.add_heading(1, heading)
            builder.add_block(body)
    return builder.document(title)
