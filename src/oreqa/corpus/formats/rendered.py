"""Formats that are first converted to a web page: it is read as one, and its text is located in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from oreqa.core import Document, Place
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.html.page import read_page
from oreqa.corpus.formats.html.source import visible_words
from oreqa.corpus.formats.places import SourcePlaces


def read_rendered(page: str, source: str, path: Path, title: str = "", omitted: Mapping[str, str] | None = None) -> Document:
    """Read a file whose text ``source`` was converted to markup. Its title is ``title``, or the first heading.

    ``omitted`` has texts that the markup lacks, by the reason.
    """
    builder = SourceBuilder(path, source)
    omitted = omitted or {}
    builder.start_page("", visible_words(page) + sum(map(count_words, omitted.values())))
    for reason, text in omitted.items():
        builder.leave_out(reason, text)
    reader = read_page(f"<title>{escape(title)}</title>{page}" if title else page)
    reader.add_to(builder)
    return builder.document(reader.title)


class SourceBuilder(TextBuilder):
    """Finds the places of blocks and headings in the file's text."""

    def __init__(self, path: Path, source: str) -> None:
        super().__init__(path)
        self.source_places = SourcePlaces(source)

    def add_title(self, text: str) -> None:
        self.source_places.find(text)
        super().add_title(text)

    def add_heading(self, level: int, text: str, place: str | Sequence[Place] = "", *, added: bool = False) -> None:
        super().add_heading(level, text, place if added else self.source_places.find(text), added=added)

    def add_block(
        self, text: str, place: str | Sequence[Place] = "", *, joined: bool = False, mark: str = "", words: int | None = None
    ) -> None:
        if not text.strip():
            return
        places = self.source_places.find(text)
        if mark:
            places = [replace(spot, start=spot.start + len(mark) + 1 if spot.start else 0) for spot in places]
            text, words = f"{mark} {text.lstrip()}", count_words(text) if words is None else words
        super().add_block(text, places, joined=joined, words=words)
