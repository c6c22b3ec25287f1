"""Jupyter notebooks: the text of their cells, their code, and its output."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.rendered import read_rendered
from oreqa.corpus.formats.rows import long_integer
from oreqa.errors import DocumentError


def read_notebook(data: bytes, path: Path) -> Document:
    """Read a notebook of format 3 or 4. Pictures, HTML pages and errors in the output are not read.

    Its title is its first heading. Raises DocumentError if it is not a notebook.
    """
    from markdown_it import MarkdownIt

    source = decode(data)
    try:
        book = json.loads(source, parse_int=long_integer)
        sheets = book.get("worksheets") or [book]
        cells = [dict(cell) for sheet in sheets for cell in sheet["cells"]]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError("it is not a notebook") from error
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parts = []
    for cell in cells:
        kind, text = cell.get("cell_type"), _joined(cell.get("source", cell.get("input", "")))
        if kind == "markdown":
            parts.append(parser.render(text))
        elif kind == "heading":
            level = int(stated) if (stated := cell.get("level", 1)) in range(1, 7) else 1
            parts.append(f"<h{level}>{escape(text)}</h{level}>")
        elif kind == "code":
            texts = [text, *map(_printed, cell.get("outputs", ()))]
            parts += [f"<pre>\n{escape(part.rstrip(), quote=False)}</pre>" for part in texts if part.strip()]
        elif kind == "raw":
            parts.append(f"<p>{escape(text, quote=False)}</p>")
    return read_rendered("\n".join(parts), source, path)


def _printed(output: dict[str, Any]) -> str:
    """Return the plain text of an output."""
    if output.get("output_type") in ("error", "pyerr"):
        return ""
    return _joined(output.get("text") or output.get("data", {}).get("text/plain", ""))


def _joined(lines: Any) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
