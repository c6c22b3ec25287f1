"""Maps the text of a PDF's document to its pages, and builds the text of tables, whose cells are separate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.pdf.lines import Line
from oreqa.corpus.formats.pdf.paragraphs import join
from oreqa.corpus.formats.pdf.tables import PageTable
from oreqa.corpus.formats.table_rows import TableRows, looks_like_header
from oreqa.text.rows import CELL_GAP, row_cells

Starts = list[tuple[int, Line, int]]
"""The lines of a text, each with its offset in it and its number of characters."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a document's text: from ``start``, ``length`` characters of a page's line from ``first`` on."""

    start: int
    page: int
    line: int
    first: int
    length: int


def stretches_of(starts: Iterable[tuple[int, Line, int]], begin: int) -> list[Stretch]:
    """Return the positions of the lines that form a text at the offset ``begin`` of the document."""
    return [Stretch(begin + start, line.page, line.number, line.start, length) for start, line, length in starts]


def add_table(builder: TextBuilder, table: PageTable, page: str, words: Counter[str], stretches: list[Stretch]) -> int:
    """Add a table's rows on a page, and their cells' positions to ``stretches``. Returns the number of their words."""
    rows = [[join(cell, words) if cell else ("", []) for cell in row.cells] for row in table.rows]
    texts = [[text for text, _ in row] for row in rows]
    read = 0

    def emit(text: str, place: str, *, is_first: bool, starts_paragraph: bool, words: int) -> None:
        """Add a row; ``place`` is its number, as all rows are on one page."""
        nonlocal read
        read += words
        builder.add_row(text, page, is_first=is_first, starts_paragraph=starts_paragraph, words=words)
        begin = builder.length - len(text)
        for at, (_, starts) in zip(_cells_of(text, texts[int(place)]), filter(_filled, rows[int(place)]), strict=True):
            stretches.extend(stretches_of(starts, begin + at))

    emitter = TableRows(emit, CELL_GAP)
    header = table.has_header or looks_like_header(texts)
    for number, (row, cells) in enumerate(zip(table.rows, texts, strict=True)):
        is_header = header and not row.spans
        emitter.add(cells, str(number), is_header=is_header)
        header = header and not is_header
    emitter.end()
    return read


def _filled(cell: tuple[str, Starts]) -> bool:
    return bool(cell[0])


def _cells_of(text: str, cells: list[str]) -> list[int]:
    """Return the start of each non-empty cell in a row's text, which may name the columns."""
    filled = [cell for cell in cells if cell]
    if text != CELL_GAP.join(filled):
        return [start for _, (start, _) in row_cells(text, 0)]
    starts, at = [], 0
    for cell in filled:
        starts.append(at)
        at += len(cell) + len(CELL_GAP)
    return starts
