"""Web pages: a page's visible text in page order, without navigation. Omitted words are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.html import rules
from oreqa.corpus.formats.html.blocks import Blocks
from oreqa.corpus.formats.html.contents import LinkedTexts
from oreqa.corpus.formats.html.source import as_html, decode_page, visible_words

_KEEP = ((), ("contents", "index"), ("contents", "index", "header", "footer", "navigation"))
"""Kinds of navigation to read, tried in turn until the page has any text."""

_ROUNDS = 4
"""Most passes over a page to find elements that look like navigation but contain text."""

ElementKey = tuple[str, str, str]
"""An element's tag, class and id."""


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
    notes = rules.note_numbers(page)
    for keep in _KEEP:
        for _ in range(_ROUNDS):
            reader = PageReader(base, heading, keep, frozenset(trusted), notes)
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


def element_key(tag: str, attributes: Mapping[str, str]) -> ElementKey:
    """Return the key that distinguishes kinds of elements in a page."""
    return tag, attributes.get("class", ""), attributes.get("id", "")


class SkippedElement:
    """Collects the text of an element at ``depth`` that is omitted for a ``reason``."""

    def __init__(self, depth: int, reason: str, key: ElementKey) -> None:
        self.depth, self.reason, self.key = depth, reason, key
        self._text: list[str] = []
        self._unlinked: list[str] = []  # the text outside links
        self._links = 0  # open links

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._links += tag in rules.LINKS
        if tag == "img":
            self._text.append(f" {attributes.get('alt', '')} ")
        self._separate(tag)

    def end(self, tag: str) -> None:
        self._links -= tag in rules.LINKS
        self._separate(tag)

    def data(self, text: str) -> None:
        self._text.append(text)
        if not self._links:
            self._unlinked.append(text)

    def _separate(self, tag: str) -> None:
        if tag in rules.BLOCKS or tag == "br":
            self._text.append(" ")
            self._unlinked.append(" ")

    def ends_before(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Return whether this is a page's header and the element inside it is the page's title, where its text starts."""
        return self.reason == "header" and rules.is_title(tag, attributes)

    @property
    def text(self) -> str:
        """All text of the element."""
        return "".join(self._text)

    @property
    def is_text(self) -> bool:
        """Return whether the element has too much text outside links to be omitted, or is text itself."""
        return rules.is_text(self.reason, "".join(self._unlinked)) or rules.is_linked_text(self.key[1], self.text)


class PageReader:
    """Reads one page. The parser calls ``start``, ``end``, ``data`` and ``close``; ``end_page`` then finishes the page.

    ``base``, ``heading`` and ``notes`` are as for ``Blocks``. Elements that would be omitted are read if the reason is in
    ``keep``, or if their key is in ``trusted``. ``misjudged`` collects the keys of omitted elements that contain text.
    """

    def __init__(
        self, base: str, heading: str, keep: Sequence[str], trusted: frozenset[ElementKey], notes: Set[str]
    ) -> None:
        self.misjudged: set[ElementKey] = set()
        self._open: list[str] = []
        self._blocks = Blocks(base, heading, keep, self._open, notes)
        self._linked = LinkedTexts()
        self._keep, self._trusted = keep, trusted
        self._invisible = 0  # open elements whose text is not shown
        self._skipped: SkippedElement | None = None
        self._sectioning: list[int] = []  # depths of open elements with headers and footers of their own
        self._title: list[str] | None = None

    @property
    def title(self) -> str:
        """Return the page's title, or its first level 1 heading."""
        return self._blocks.title

    @property
    def has_text(self) -> bool:
        """Return whether the page has any block besides headings."""
        return self._blocks.count > 0

    def add_to(self, builder: TextBuilder) -> None:
        """Add everything that was read to the builder, in page order."""
        self._blocks.add_to(builder)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition(":")[2].lower()
        self._open.append(tag)
        if tag in rules.INVISIBLE:
            self._invisible += 1
        elif tag == "title":
            if self.title or self._title is not None or "body" in self._open:
                self._invisible += 1  # the title of a drawing
            else:
                self._title = []
        elif self._skipped:
            if self._skipped.ends_before(tag, attributes):
                self._end_skipped()
                self._start(tag, attributes)
            else:
                self._skipped.start(tag, attributes)
        else:
            reason = rules.skip_reason(tag, attributes, not self._sectioning)
            if reason and reason not in self._keep and not (attributes and element_key(tag, attributes) in self._trusted):
                if tag in rules.BLOCKS:
                    self._blocks.end_block()
                elif tag in ("a", "span"):
                    self._blocks.note_anchor(tag, attributes)  # a heading's permalink may contain the heading's anchor
                self._skipped = SkippedElement(len(self._open), reason, element_key(tag, attributes))
            else:
                self._start(tag, attributes)
        if self._sectioning and rules.is_main(tag, attributes):
            self._sectioning = [len(self._open)]  # the parent of the main part is layout: its footer is the page's
        elif tag in rules.SECTIONING:
            self._sectioning.append(len(self._open))

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._blocks.start(tag, attributes)
        self._linked.start(tag, attributes, len(self._open), self._blocks.size)

    def end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2].lower()
        if not self._open or self._open[-1] != tag:
            return  # an unmatched end tag: the parser closes every element it opened
        if self._sectioning and self._sectioning[-1] == len(self._open):
            self._sectioning.pop()
        if tag in rules.INVISIBLE:
            self._invisible -= 1
        elif tag == "title":
            self._end_title()
        elif self._skipped:
            if self._skipped.depth == len(self._open):
                self._end_skipped()
            else:
                self._skipped.end(tag)
        else:
            self._blocks.end(tag)
            self._linked.end(tag, len(self._open), self._blocks.size)
        self._open.pop()

    def data(self, text: str) -> None:
        if self._invisible:
            return
        if self._title is not None:
            self._title.append(text)
        elif self._skipped:
            self._skipped.data(text)
        elif self._open and self._open[-1] == "noframes":
            self._blocks.text(rules.without_tags(text))
        else:
            self._blocks.text(text)
            self._linked.data(text)

    def close(self) -> None:
        self._blocks.end_block()

    def end_page(self) -> None:
        """End the page, whatever is still open."""
        if self._skipped:
            self._end_skipped()
        self._blocks.end_page()
        for linked, reason in self._linked.omitted(self._keep):
            self._blocks.replace(linked.first, linked.last, reason, linked.text)

    def _end_title(self) -> None:
        if self._title is None:
            self._invisible -= 1
        else:
            self._blocks.title = " ".join("".join(self._title).split())
            self._title = None

    def _end_skipped(self) -> None:
        skipped, self._skipped = self._skipped, None
        if skipped is not None:
            if skipped.is_text:
                self.misjudged.add(skipped.key)
            self._blocks.leave_out(skipped.reason, skipped.text)
