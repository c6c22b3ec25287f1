"""Parts shared by Word, OpenDocument and PowerPoint files: paragraphs, headers and footers, and slide titles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.office.packed import tidy

HEADERS_AND_FOOTERS = "headers and footers"
"""The reason given for omitting headers, footers, page numbers and slide numbers."""

STRUCK_OUT = "struck-out text"
"""The reason given for omitting struck-out text, as in web pages."""


@dataclass
class ParagraphContent:
    """A paragraph's text, the elements of notes that it refers to, and those of text boxes anchored in it."""

    pieces: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    has_page_number: bool = False

    def take_struck_out(self, other: ParagraphContent, builder: TextBuilder) -> None:
        """Add struck-out content: its notes and boxes, but not its text."""
        builder.leave_out(STRUCK_OUT, other.text())
        self.notes += other.notes
        self.boxes += other.boxes
        self.has_page_number |= other.has_page_number

    def text(self) -> str:
        """Return the paragraph's text without superfluous white space."""
        return tidy("".join(self.pieces))


def add_headers(builder: TextBuilder, lines: Iterable[tuple[str, bool]], seen: set[str], title: str) -> None:
    """Add headers and footers as a last section, without page numbers, the document's ``title`` and repeated text.

    ``lines`` are their texts, each with whether it has a page number. ``seen`` has the document's texts, case-folded, and
    is extended by those added.
    """
    new = []
    for text, has_page_number in lines:
        if (has_page_number and count_words(text) <= 3) or text.casefold() in seen or text == title:
            builder.leave_out(HEADERS_AND_FOOTERS, text)
        elif text:
            seen.add(text.casefold())
            new.append(text)
    if new:
        builder.add_heading(1, "Headers and footers", added=True)
        for text in new:
            builder.add_block(text, joined=True)


def add_slide_title(builder: TextBuilder, number: int, title: str) -> None:
    """Start the section of slide ``number``, from 1. The first slide's title is the document's."""
    name = f"slide {number}"
    if title and number == 1:
        builder.add_title(title)
    else:
        builder.add_heading(1, title or name, name, added=not title)
