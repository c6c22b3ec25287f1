"""PDF and Word documents. Offsets point into the extracted text."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.text import join_parts
from oreqa.errors import DocumentError


def read_pdf(data: bytes, path: Path) -> Document:
    """A PDF, its pages as sections ("page 3"). Raises DocumentError if it is encrypted or damaged."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its warnings name no file
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError("it is encrypted: save a copy without its password")
        pages = [_unwrap(page.extract_text() or "") for page in reader.pages]
        title = (reader.metadata.title if reader.metadata else None) or ""
    except DocumentError:
        raise
    except PyPdfError as error:
        raise DocumentError(f"it is not a readable PDF ({_first_line(error)})") from error
    except Exception as error:  # a damaged file can fail anywhere inside the parser
        raise DocumentError(f"it is a damaged PDF ({type(error).__name__})") from error
    return join_parts(path, title.strip(), [(f"page {n}", page) for n, page in enumerate(pages, 1)])


def read_docx(data: bytes, path: Path) -> Document:
    """A Word document: paragraphs and tables in order, its heading styles as sections."""
    import docx
    from docx.table import Table

    try:
        source = docx.Document(io.BytesIO(data))
    except Exception as error:  # zipfile, lxml and python-docx each raise their own
        raise DocumentError(f"it is not a readable .docx file ({type(error).__name__})") from error
    title = (source.core_properties.title or "").strip()
    parts: list[tuple[str, str]] = [("", "")]
    headings: list[tuple[int, str]] = []
    for block in source.iter_inner_content():
        if isinstance(block, Table):
            parts[-1] = (parts[-1][0], _add(parts[-1][1], _table_text(block)))
            continue
        style = (block.style.name if block.style else "") or ""
        body = block.text.strip()
        level = _heading_level(style)
        if level is None or not body:
            parts[-1] = (parts[-1][0], _add(parts[-1][1], body))
        elif level == 0 or (level == 1 and not title):
            title = title or body
        else:
            headings = [pair for pair in headings if pair[0] < level] + [(level, body)]
            parts.append((" > ".join(name for _, name in headings), ""))
    return join_parts(path, title, parts)


def _heading_level(style: str) -> int | None:
    if style == "Title":
        return 0
    match = re.fullmatch(r"Heading (\d)", style)
    return int(match.group(1)) if match else None


def _table_text(table: Any) -> str:
    rows = []
    for row in table.rows:
        cells: list[str] = []
        for cell in row.cells:
            text = " ".join(cell.text.split())
            if text and (not cells or cells[-1] != text):  # a merged cell is listed once per column
                cells.append(text)
        rows.append(" | ".join(cells))
    return "\n".join(row for row in rows if row)


def _add(text: str, paragraph: str) -> str:
    return f"{text}\n\n{paragraph}" if text and paragraph else text or paragraph


def _unwrap(page: str) -> str:
    """Join the lines that a page's layout broke: words across a hyphen, sentences across line ends."""
    page = page.replace("\r\n", "\n").replace("\0", "")
    page = re.sub(r"(?<=[a-z])-\n(?=[a-z])", "", page)
    return re.sub(r"(?<!\n)\n(?![\n \t]*(?:\n|[-*•‣◦]\s|\d{1,3}[.)]\s))", " ", page).strip()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
