"""Read a web page: a target for lxml's parser that tells a page's text from what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats import html_rules as rules
from oreqa.corpus.formats.html_blocks import Blocks
from oreqa.corpus.formats.html_skipped import ElementKey, SkippedElement, element_key


class PageReader:
    """Reads one page. The parser calls ``start``, ``end``, ``data`` and ``close``; ``end_page`` then finishes the page.

    ``base`` and ``heading`` are as for ``Blocks``. Elements that would be left out are read if the reason is in ``keep``, or
    if their key is in ``trusted``. ``misjudged`` collects the keys of elements that were left out but hold text.
    """

    def __init__(self, base: str, heading: str, keep: Sequence[str], trusted: frozenset[ElementKey]) -> None:
        self.misjudged: set[ElementKey] = set()
        self._open: list[str] = []
        self._blocks = Blocks(base, heading, keep, self._open)
        self._keep, self._trusted = keep, trusted
        self._invisible = 0  # open elements whose text is not shown
        self._skipped: SkippedElement | None = None
        self._sectioning = 0  # open elements with headers and footers of their own
        self._title: list[str] | None = None

    @property
    def title(self) -> str:
        """The page's title, or its first heading of level 1."""
        return self._blocks.title

    @property
    def has_text(self) -> bool:
        """Whether the page has any block besides headings."""
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
                self._blocks.start(tag, attributes)
            else:
                self._skipped.start(tag, attributes)
        else:
            reason = rules.skip_reason(tag, attributes, self._sectioning == 0)
            if reason and reason not in self._keep and not (attributes and element_key(tag, attributes) in self._trusted):
                if tag in rules.BLOCKS:
                    self._blocks.end_block()
                elif tag in ("a", "span"):
                    self._blocks.note_anchor(tag, attributes)  # a heading's permalink may hold the heading's anchor
                self._skipped = SkippedElement(len(self._open), reason, element_key(tag, attributes))
            else:
                self._blocks.start(tag, attributes)
        if tag in rules.SECTIONING:
            self._sectioning += 1

    def end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2].lower()
        if not self._open or self._open[-1] != tag:
            return  # an unmatched end tag: the parser closes every element it opened
        if tag in rules.SECTIONING:
            self._sectioning -= 1
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

    def close(self) -> None:
        self._blocks.end_block()

    def end_page(self) -> None:
        """End the page, whatever is still open."""
        if self._skipped:
            self._end_skipped()
        self._blocks.end_page()

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
