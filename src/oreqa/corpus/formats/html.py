"""Web pages: a page's visible text in page order, without navigation. Words left out are counted."""

from __future__ import annotations

from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.html_page import PageReader
from oreqa.corpus.formats.html_skipped import ElementKey
from oreqa.corpus.formats.html_source import as_html, decode_page, visible_words

_KEEP = ((), ("contents", "index"), ("contents", "index", "header", "footer", "navigation"))
"""Kinds of navigation to read, tried in turn until the page has any text."""

_ROUNDS = 4
"""Most passes over a page to find elements that look like navigation but hold text."""


def read_html(data: bytes, path: Path) -> Document:
    """Read a web page. Its title is ``<title>``, else its first level 1 heading.

    If a page has only navigation, such as a book's table of contents, the navigation is read.
    """
    page = as_html(decode_page(data), path.suffix.lower())
    builder = TextBuilder(path)
    builder.start_page("", visible_words(page))
    reader = read_page(page)
    reader.add_to(builder)
    return builder.document(reader.title)


def read_page(page: str, base: str = "", heading: str = "") -> PageReader:
    """Read one page's markup. Places start with ``base``; ``heading`` is put before a page that starts without one."""
    trusted: set[ElementKey] = set()
    for keep in _KEEP:
        for _ in range(_ROUNDS):
            reader = PageReader(base, heading, keep, frozenset(trusted))
            _parse(page, reader)
            reader.end_page()
            trusted |= reader.misjudged
            if not reader.misjudged:
                break
        if reader.has_text and not reader.misjudged:
            break
    return reader


def _parse(page: str, reader: PageReader) -> None:
    """Send the page's tags and text to ``reader``. Without a tree, parsing is linear and the nesting depth unlimited."""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, target=reader)
    parser.feed(page.encode("utf-8", "replace"))
    if page.strip():
        parser.close()
