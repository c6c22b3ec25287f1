"""HTML pages: the main text as trafilatura finds it, with its headings as sections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.text import join_parts


def read_html(data: bytes, path: Path) -> Document:
    """A web page. Offsets point into the extracted text: paragraphs, items of lists and rows of tables."""
    page = decode(data)
    title, parts = _main_text(page)
    if not any(text.strip() for _, text in parts):
        parts = [("", _all_text(page))]
    return join_parts(path, title, parts)


def _main_text(page: str) -> tuple[str, list[tuple[str, str]]]:
    """The page's title, and its texts by heading."""
    from trafilatura import bare_extraction

    found: Any = bare_extraction(page, include_comments=False, with_metadata=True)
    if found is None or found.body is None:
        return "", []
    title = found.title or ""
    parts: list[tuple[str, str]] = [("", "")]
    headings: list[tuple[int, str]] = []
    for block in found.body:
        text = _block_text(block)
        if block.tag == "head" and text:
            if text == title:
                continue
            digit = (block.get("rend") or "h2")[-1]  # trafilatura keeps the kind of heading here, as "h3"
            level = int(digit) if digit.isdigit() else 2
            headings = [pair for pair in headings if pair[0] < level] + [(level, text)]
            parts.append((" > ".join(name for _, name in headings), ""))
        elif text:
            heading, before = parts[-1]
            parts[-1] = (heading, f"{before}\n\n{text}" if before else text)
    return title, parts


def _block_text(block: Any) -> str:
    if block.tag == "list":
        return "\n".join(f"- {_words(item)}" for item in block if _words(item))
    if block.tag == "table":
        return "\n".join(" | ".join(_words(cell) for cell in row) for row in block.iter("row"))
    return _words(block)


def _words(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _all_text(page: str) -> str:
    """Every visible text of a page in which no main text stands out."""
    from lxml import html

    if not page.strip():
        return ""
    try:
        tree = html.document_fromstring(page.encode(), parser=html.HTMLParser(encoding="utf-8"))
    except (ValueError, html.etree.ParserError):
        return ""
    for hidden in tree.xpath("//script|//style|//noscript|//template|//head"):
        hidden.drop_tree()
    lines = (" ".join(str(piece).split()) for piece in tree.itertext())
    return "\n".join(line for line in lines if line)
