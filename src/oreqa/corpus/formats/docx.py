"""Word documents. Offsets point into the extracted text."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.builder import is_heading, join_headings
from oreqa.corpus.formats.text import join_parts
from oreqa.errors import DocumentError, describe


def read_docx(data: bytes, path: Path) -> Document:
    """A Word document: paragraphs and tables in order, its heading styles as sections."""
    try:
        title, parts = _docx_parts(data)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # zipfile, lxml and python-docx each raise their own
        raise DocumentError(f"it is not a readable .docx file ({describe(error)})") from error
    return join_parts(path, title, parts)


def _docx_parts(data: bytes) -> tuple[str, list[tuple[str, str]]]:
    import docx
    from docx.table import Table

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(part.file_size for part in archive.infolist()) > limits.UNPACKED_BYTES:
            raise DocumentError(f"it unpacks to more than {limits.UNPACKED_BYTES >> 20} MB: split it")
    source = docx.Document(io.BytesIO(data))
    title = _docx_title(source)
    styles: dict[str | None, str] = {}  # looking one up reads the whole list of styles
    sections: list[tuple[str, list[str]]] = [("", [])]
    headings: list[tuple[int, str]] = []
    for block in source.iter_inner_content():
        if isinstance(block, Table):
            sections[-1][1].append(_table_text(block))
            continue
        body = block.text.strip()
        if not body:
            continue
        name = block._p.style
        if name not in styles:
            styles[name] = _style_name(block)
        level = _heading_level(styles[name])
        if level is None or not is_heading(body):
            sections[-1][1].append(body)
        elif level == 0 or (level == 1 and not title):
            title = title or body
        else:
            headings = [pair for pair in headings if pair[0] < level] + [(level, body)]
            sections.append((join_headings(headings), []))
    return title, [(heading, "\n\n".join(text for text in texts if text)) for heading, texts in sections]


def _docx_title(source: Any) -> str:
    try:
        return (source.core_properties.title or "").strip()
    except Exception:  # the text can be read without its properties
        return ""


def _style_name(paragraph: Any) -> str:
    try:
        return (paragraph.style.name if paragraph.style else "") or ""
    except Exception:  # nor does it need its styles
        return ""


def _heading_level(style: str) -> int | None:
    if style == "Title":
        return 0
    match = re.fullmatch(r"Heading (\d)", style)
    return int(match.group(1)) if match else None


def _table_text(table: Any) -> str:
    from docx.table import _Cell

    # Not row.cells, which lists a merged cell once per column, however many it says it spans.
    rows = [[" ".join(_Cell(cell, table).text.split()) for cell in row.tc_lst] for row in table._tbl.tr_lst]
    return "\n".join(" | ".join(text for text in row if text) for row in rows if any(row))
