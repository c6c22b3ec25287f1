"""HTML pages: the main text as trafilatura finds it, with its headings as sections."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.builder import is_heading, join_headings
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.text import join_parts

_HIDDEN = ("script", "style", "noscript", "template", "head")


_DEEPEST = 250
"""The parser of trafilatura drops what is nested deeper than 256 elements, and says nothing."""


def read_html(data: bytes, path: Path) -> Document:
    """A web page. Offsets point into the extracted text: paragraphs, items of lists and rows of tables."""
    page = decode(data)
    deepest, lines = _all_text(page)
    title, parts = _main_text(page) if deepest <= _DEEPEST else ("", [])
    if not any(text.strip() for _, text in parts):
        parts = [("", lines)]
    return join_parts(path, title, parts)


def _main_text(page: str) -> tuple[str, list[tuple[str, str]]]:
    """The page's title, and its texts by heading; nothing where no main text stands out."""
    from trafilatura import bare_extraction

    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # its warnings name no file
    try:
        extracted: Any = bare_extraction(page, include_comments=False, with_metadata=True)
    except MemoryError:
        raise
    except Exception:  # it stumbles over some odd pages, whose text can be had without it
        return "", []
    if extracted is None or extracted.body is None:
        return "", []
    title = extracted.title or ""
    sections: list[tuple[str, list[str]]] = [("", [])]
    headings: list[tuple[int, str]] = []
    for block in extracted.body:
        text = _block_text(block)
        if block.tag == "head" and is_heading(text):
            if text == title:
                continue
            digit = (block.get("rend") or "h2")[-1]  # trafilatura keeps the kind of heading here, as "h3"
            level = int(digit) if digit.isdecimal() else 2
            headings = [pair for pair in headings if pair[0] < level] + [(level, text)]
            sections.append((join_headings(headings), []))
        elif text:
            sections[-1][1].append(text)
    return title, [(heading, "\n\n".join(texts)) for heading, texts in sections]


def _block_text(block: Any) -> str:
    if block.tag == "list":
        return "\n".join(f"- {_words(item)}" for item in block if _words(item))
    if block.tag == "table":
        return "\n".join(" | ".join(_words(cell) for cell in row) for row in block.iter("row"))
    return _words(block)


def _words(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


class _AllText:
    """Collects every visible text of a page, and how deep its elements are nested; the parser calls its methods."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.deepest = 0
        self._depth = 0
        self._hidden = 0
        self._pieces: list[str] = []

    def start(self, tag: str, attributes: object) -> None:
        self._end_line()
        self._depth += 1
        self.deepest = max(self.deepest, self._depth)
        self._hidden += tag in _HIDDEN

    def end(self, tag: str) -> None:
        self._end_line()
        self._depth -= 1
        self._hidden -= tag in _HIDDEN

    def data(self, text: str) -> None:
        if not self._hidden:
            self._pieces.append(text)

    def close(self) -> None:
        self._end_line()

    def _end_line(self) -> None:
        line = " ".join("".join(self._pieces).split())
        self._pieces.clear()
        if line:
            self.lines.append(line)


def _all_text(page: str) -> tuple[int, str]:
    """How deep a page's elements are nested, and all its text, a line for each stretch without markup."""
    from lxml import etree

    target = _AllText()
    with contextlib.suppress(etree.LxmlError):  # of a page without any element
        etree.fromstring(page.encode(), parser=etree.HTMLParser(encoding="utf-8", huge_tree=True, target=target))
    return target.deepest, "\n".join(target.lines)
