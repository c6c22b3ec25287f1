"""One file to its documents: which reader serves which format, and the limits that all share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus import markup, office, tables, text
from oreqa.errors import DocumentError

MAX_FILE_BYTES = 64 << 20
"""Larger single documents are refused: a table of rows (CSV, TSV, JSONL) may be of any size."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a table's rows hold the text, the title and the identifier; None means the usual names."""

    text: str | None = None
    title: str | None = None
    id: str | None = None


_WHOLE: dict[str, Callable[[bytes, Path], Document]] = {
    ".txt": text.read_text,
    ".text": text.read_text,
    ".rst": text.read_text,
    ".md": text.read_markdown,
    ".markdown": text.read_markdown,
    ".html": markup.read_html,
    ".htm": markup.read_html,
    ".xhtml": markup.read_html,
    ".pdf": office.read_pdf,
    ".docx": office.read_docx,
}
_ROWS = (".csv", ".tsv", ".jsonl", ".ndjson", ".jsonl.gz")

SUFFIXES = (*_WHOLE, *_ROWS)


def known(path: Path) -> bool:
    """Whether the name of ``path`` is one of a format that can be read."""
    return path.name.lower().endswith(SUFFIXES)


def read_documents(path: Path, fields: Fields | None = None) -> Iterator[Document]:
    """Read one file; tables give a document a row. Documents without any text are refused.

    Raises DocumentError with a one-line reason, possibly after some rows were given.
    """
    fields = fields or Fields()
    name = path.name.lower()
    try:
        if name.endswith(_ROWS):
            yield from tables.read_rows(path, fields.text, fields.title, fields.id)
            return
        reader = _WHOLE.get(path.suffix.lower())
        if reader is None:
            raise DocumentError(f"files of this kind cannot be read; known: {', '.join(SUFFIXES)}")
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise DocumentError(f"it is {size >> 20} MB; one document may be {MAX_FILE_BYTES >> 20} MB: split it")
        document = reader(path.read_bytes(), path)
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror or error}") from error
    if not document.text.strip():
        raise DocumentError("it holds no text" + (" (a scanned PDF needs OCR first)" if name.endswith(".pdf") else ""))
    yield document
