"""Web pages: all that a page shows, in its order. What is hidden and what leads elsewhere is counted and left out."""

from __future__ import annotations

from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.html_page import PageReading
from oreqa.corpus.formats.html_skipped import Marks
from oreqa.corpus.formats.html_source import as_html, decode_page, visible_words

_KEPT = ((), ("contents", "index"), ("contents", "index", "header", "footer", "navigation"))
"""What is read although it leads elsewhere, where a page holds nothing else: first nothing, then more."""

_ROUNDS = 4
"""Readings of a page, at the most, in which more marks of navigation are found to mislead."""


def read_html(data: bytes, path: Path) -> Document:
    """A web page. Its title is ``<title>``, else its first heading of level one.

    A page of nothing but navigation, such as a book's contents, is read with that.
    """
    page = as_html(decode_page(data), path.suffix.lower())
    builder = TextBuilder(path)
    builder.start_page("", visible_words(page))
    reading = read_page(page)
    reading.fill(builder)
    return builder.document(reading.title)


def read_page(page: str, base: str = "", heading: str = "") -> PageReading:
    """Read one page's markup. ``base`` is what its places begin with.

    ``heading`` stands over a page that begins without one.
    """
    misleading: set[Marks] = set()
    for kept in _KEPT:
        for _ in range(_ROUNDS):
            reading = PageReading(base, heading, kept, frozenset(misleading))
            _parse(page, reading)
            reading.end_page()
            misleading |= reading.misleading
            if not reading.misleading:
                break
        if reading.blocks and not reading.misleading:
            break
    return reading


def _parse(page: str, reading: PageReading) -> None:
    """Give each tag and text to ``reading``. The parser builds no tree, whose depth would be bounded, in linear time."""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, target=reading)
    parser.feed(page.encode("utf-8", "replace"))
    if page.strip():
        parser.close()
