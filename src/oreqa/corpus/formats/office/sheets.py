"""Turns the rows of a sheet into blocks that name their columns, for Excel and OpenDocument spreadsheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from oreqa.core import MISSING, PageWords
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.office.text import STRUCK_OUT
from oreqa.corpus.formats.table_rows import MAX_NAME
from oreqa.text.rows import CELL_GAP, row_text

_MAX_COLUMNS = 100
"""The most columns in which a merged text is repeated."""


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A cell's displayed text; ``words`` says that it is text, not a number or date.

    ``struck_out`` is the cell's struck-out text, which is not in ``text``.
    """

    text: str
    words: bool = True
    struck_out: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """Merged cells, numbered from 1; the first of them has their text."""

    top: int
    left: int
    bottom: int
    right: int


class Sheet:
    """Adds a sheet's rows to a document, each as a block with its place, such as "sheet Prices, row 4".

    The first row of a table is its header if it has only short, distinct texts. A single cell at the start of the sheet, or
    after an empty row, is a caption; another table with its header may follow.
    """

    def __init__(self, builder: TextBuilder, name: str) -> None:
        self._builder = builder
        self._name = name
        self._header: dict[int, str] = {}
        self._pending_header: tuple[int, str] | None = None  # a header without rows under it so far
        self._after_gap = True
        self._last = 0
        self._read = 0
        self._struck_out = 0
        self._regions: dict[tuple[int, int], Region] = {}  # by their first cells
        self._open: list[tuple[Region, str]] = []  # regions begun by the rows so far, with their texts
        builder.add_heading(1, name, added=True)

    def merge(self, regions: Iterable[Region]) -> None:
        """Set the merged cells, before any row: their text is repeated in each row and, under names, in each column."""
        self._regions = {(region.top, region.left): region for region in regions}

    def add_row(self, number: int, cells: Sequence[tuple[int, SheetCell]]) -> None:
        """Add the next row: its number from 1, and its cells with their columns in order; empty ones may be missing."""
        filled = [(column, cell) for column, cell in cells if cell.text]
        self._struck_out += sum(count_words(cell.struck_out) for _, cell in cells)
        if not filled:
            if any(cell.struck_out for _, cell in cells):
                self._last = number  # the row does not separate two tables
            return
        gap = self._last + 1 < number or not self._last
        self._last = number
        self._read += sum(count_words(cell.text) for _, cell in filled if cell.words)
        filled = self._with_merged(number, filled)
        if len(filled) == 1 and gap:
            self._end_header()
            self._block(number, filled[0][1].text)
        elif not self._header and _is_header([cell for _, cell in filled]):
            self._header = {column: cell.text for column, cell in filled}
            self._pending_header = (number, CELL_GAP.join(self._header.values()))
        elif self._header:
            self._pending_header = None
            named = [(self._header.get(column), cell.text) for column, cell in filled]
            self._block(number, row_text(named))
        else:
            self._block(number, CELL_GAP.join(cell.text for _, cell in filled))

    def _with_merged(self, number: int, filled: list[tuple[int, SheetCell]]) -> list[tuple[int, SheetCell]]:
        """Return a row's cells including merged ones; a cell that fills a row by itself is not repeated."""
        self._open = [(region, text) for region, text in self._open if region.bottom >= number]
        starting = [
            (self._regions[number, column], cell.text)
            for column, cell in filled
            if (number, column) in self._regions and len(cell.text) <= MAX_NAME
        ]
        if not starting and not self._open:
            return filled
        cells = dict(filled)
        for region, text in self._open + (starting if self._header and len(filled) > 1 else []):
            right = min(region.right, region.left + _MAX_COLUMNS) if self._header else region.left
            for column in range(region.left, right + 1):
                cells.setdefault(column, SheetCell(text))
        self._open += starting
        return sorted(cells.items(), key=itemgetter(0))

    def end(self, source: int, omitted: Mapping[str, int] | None = None) -> None:
        """End the sheet. ``source`` is the number of words in its text cells, counted independently in the file."""
        self._end_header()
        struck_out = {STRUCK_OUT: self._struck_out} if self._struck_out else {}
        self._builder.add_page(PageWords(f"sheet {self._name}", source, self._read, {**(omitted or {}), **struck_out}))

    def end_damaged(self) -> None:
        """End a sheet whose remaining rows cannot be read, and whose words cannot be counted."""
        self.end(self._read + self._struck_out, {MISSING: 0})

    def _end_header(self) -> None:
        if self._pending_header:
            self._block(*self._pending_header)
        self._header, self._pending_header = {}, None

    def _block(self, number: int, text: str) -> None:
        self._builder.add_block(text, f"sheet {self._name}, row {number}")


def _is_header(cells: Sequence[SheetCell]) -> bool:
    names = {cell.text for cell in cells}
    return 1 < len(cells) == len(names) and all(cell.words and len(cell.text) <= MAX_NAME for cell in cells)
