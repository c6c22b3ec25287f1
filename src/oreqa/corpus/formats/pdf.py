"""PDFs. Offsets point into the extracted text."""

from __future__ import annotations

import io
import logging
import re
import string
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.formats.text import join_parts
from oreqa.errors import DocumentError, describe

_LETTERS = frozenset(string.ascii_lowercase)
_ITEM = re.compile(r"(?:[-*•‣◦]|\d{1,3}[.)])(?:\s|\Z)")


def read_pdf(data: bytes, path: Path) -> Document:
    """A PDF, its pages as sections ("page 3"). Raises DocumentError if it is encrypted or damaged."""
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings name no file
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError("it is encrypted: save a copy without its password")
        pages = [(f"page {n}", _unwrap(page.extract_text() or "")) for n, page in enumerate(reader.pages, 1)]
        title = (reader.metadata.get("/Title") if reader.metadata else None) or ""
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # a damaged file can fail anywhere inside the parser
        raise DocumentError(f"it is not a readable PDF ({describe(error)})") from error
    return join_parts(path, str(title).strip(), pages)


def _unwrap(page: str) -> str:
    """Join the lines that a page's layout broke: words across a hyphen, sentences across line ends."""
    pieces: list[str] = []
    above = ""
    for line in page.replace("\r\n", "\n").replace("\0", "").split("\n"):
        line = line.strip(" \t")
        if above and line and not _ITEM.match(line):
            if above[-1] == "-" and above[-2:-1] in _LETTERS and line[0] in _LETTERS:
                pieces[-1] = above[:-1]
            else:
                pieces.append(" ")
        else:
            pieces.append("\n")
        pieces.append(line)
        above = line
    return "".join(pieces).strip()
