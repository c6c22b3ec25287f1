"""PowerPoint presentations.

Parsed from the XML itself, because the library for these files drops diagrams and alternate content.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oreqa.core import MISSING, Document, PageWords
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.office.packed import (
    all_text,
    alternative_of,
    attribute,
    below,
    child,
    core_title,
    local,
    open_archive,
    optional_part,
    packed_reader,
    parse_part,
    relations,
    tidy,
)
from oreqa.corpus.formats.office.text import HEADERS_AND_FOOTERS, STRUCK_OUT, add_slide_title
from oreqa.corpus.formats.table_rows import TableRows, looks_like_header

_TITLES = ("title", "ctrTitle")
_COUNTERS = ("sldNum", "dt")
_REPEATED = ("ftr", "hdr")


@packed_reader
def read_pptx(data: bytes, path: Path) -> Document:
    """Read a presentation: a section per slide under its title, with tables, diagrams and notes.

    Slide numbers, dates and struck-out text are omitted, and so are footers after their first occurrence.
    """
    archive = open_archive(data)
    deck = _Deck(archive, TextBuilder(path))
    for number, name in enumerate(_slides(archive), 1):
        deck.add_slide(number, name)
    return deck.builder.document(deck.builder.title or core_title(archive))


def _slides(archive: zipfile.ZipFile) -> Iterator[str]:
    """Yield the names of the slides' parts in presentation order."""
    main = next((part for _, kind, part in relations(archive, "") if kind == "officeDocument"), "ppt/presentation.xml")
    parts = {key: part for key, kind, part in relations(archive, main) if kind == "slide"}
    slides = child(parse_part(archive, main), "sldIdLst")
    for slide in () if slides is None else slides:
        # The relationship's identifier "r:id"; the slide's own "id" has no namespace.
        keys = [value for name, value in slide.items() if name.endswith("}id")]
        if keys and keys[0] in parts:
            yield parts[keys[0]]


class _Deck:
    def __init__(self, archive: zipfile.ZipFile, builder: TextBuilder) -> None:
        self._archive = archive
        self.builder = builder
        self._footers: set[str] = set()

    def add_slide(self, number: int, name: str) -> None:
        place = f"slide {number}"
        slide = optional_part(self._archive, name)
        related = relations(self._archive, name)
        notes = [root for _, kind, part in related if kind == "notesSlide" for root in self._root(part)]
        self._diagrams = {key: part for key, kind, part in related if kind == "diagramData"}
        if slide is None:
            self.builder.add_page(PageWords(place, 0, 0, {MISSING: 0}))
            return
        shapes = list(_shapes(slide))
        diagrams = [root for part in dict.fromkeys(self._diagrams.values()) for root in self._root(part)]
        self.builder.start_page(place, sum(count_words(all_text(root)) for root in (slide, *notes, *diagrams)))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title = " ".join(self._text(titles[0]).split()) if titles else ""
        add_slide_title(self.builder, number, title)
        for shape in shapes:
            if not titles or shape is not titles[0]:
                self._add_shape(shape, place)
        for root in notes:
            for shape in _shapes(root):
                self._add_shape(shape, f"{place}, notes")

    def _root(self, part: str) -> Iterator[Any]:
        root = optional_part(self._archive, part)
        if root is not None:
            yield root

    def _add_shape(self, shape: Any, place: str) -> None:
        kind = _placeholder(shape)
        if local(shape) == "graphicFrame":
            self._add_frame(shape, place)
            return
        text = self._lines(shape)
        if kind in _COUNTERS or (kind in _REPEATED and text in self._footers):
            self.builder.leave_out(HEADERS_AND_FOOTERS, text)
            return
        if kind in _REPEATED:
            self._footers.add(text)
        self.builder.add_block(text, place)

    def _add_frame(self, shape: Any, place: str) -> None:
        """Add a table's rows, and a diagram's paragraphs."""
        rows = [[" ".join(self._lines(cell).split()) for cell in row if local(cell) == "tc"] for row in below(shape, "tr")]
        added = TableRows(self.builder.add_row)
        for number, cells in enumerate(rows):
            added.add(cells, place, is_header=number == 0 and looks_like_header(rows))
        added.end()
        for identifiers in below(shape, "relIds"):
            for root in self._root(self._diagrams.get(attribute(identifiers, "dm") or "", "")):
                self.builder.add_block(self._lines(root), place)

    def _lines(self, shape: Any) -> str:
        """Return the text of a shape, one paragraph per line."""
        return "\n".join(text for paragraph in below(shape, "p") if (text := tidy(self._text(paragraph))))

    def _text(self, part: Any) -> str:
        """Return the text of a part without struck-out text, which is counted as omitted."""
        struck_out: list[str] = []
        text = all_text(part, struck_out)
        for words in struck_out:
            self.builder.leave_out(STRUCK_OUT, words)
        return text


def _shapes(parent: Any) -> Iterator[Any]:
    """Yield shapes with text, tables and diagrams in reading order, ungrouped."""
    for part in parent:
        name = local(part)
        if name in ("sp", "cxnSp", "graphicFrame"):
            yield part
        elif name == "AlternateContent":
            # A diagram's text is in another part, so no alternative has any: take the first.
            alternative = alternative_of(part)
            yield from _shapes(alternative if alternative is not None else part[:1])
        else:
            yield from _shapes(part)


def _placeholder(shape: Any) -> str:
    """Return a placeholder's purpose; "" for other shapes."""
    for properties in shape:
        placeholder = child(child(properties, "nvPr"), "ph")
        if placeholder is not None:
            return attribute(placeholder, "type") or "body"
    return ""
