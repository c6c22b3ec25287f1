"""Rows of a sheet to blocks that name their columns, for Excel and OpenDocument spreadsheets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oreqa.core import MISSING, PageWords
from oreqa.corpus.builder import TextBuilder, count_words

_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows; ``words`` of those that are text, not numbers or dates."""

    text: str
    words: bool = True


class Sheet:
    """Adds a sheet's rows to a document, each a block with its place: "sheet Prices, row 4".

    The first row of a table, if it holds nothing but short and different texts, names the columns of those below it. A
    single cell at the beginning, or after an empty row, is a caption: a table with names of its own may follow.
    """

    def __init__(self, builder: TextBuilder, name: str) -> None:
        self._builder = builder
        self._name = name
        self._header: dict[int, str] = {}
        self._waiting: tuple[int, str] | None = None  # names of columns that no row stands under yet
        self._after_gap = True
        self._last = 0
        self._read = 0
        builder.add_heading(1, name, added=True)

    def add_row(self, number: int, cells: Sequence[tuple[int, Cell]]) -> None:
        """The next row, its cells with their columns in order; empty ones may be missing. ``number`` counts from 1."""
        filled = [(column, cell) for column, cell in cells if cell.text]
        if not filled:
            return
        gap = self._last + 1 < number or not self._last
        self._last = number
        self._read += sum(count_words(cell.text) for _, cell in filled if cell.words)
        if len(filled) == 1 and gap:
            self._end_header()
            self._block(number, filled[0][1].text)
        elif not self._header and _is_header([cell for _, cell in filled]):
            self._header = {column: cell.text for column, cell in filled}
            self._waiting = (number, " | ".join(self._header.values()))
        elif self._header:
            self._waiting = None
            named = [(self._header.get(column), cell.text) for column, cell in filled]
            self._block(number, "; ".join(f"{name}: {text}" if name else text for name, text in named))
        else:
            self._block(number, " | ".join(cell.text for _, cell in filled))

    def end(self, source: int, left_out: Mapping[str, int] | None = None) -> None:
        """``source`` is the number of words in the text cells of the file, counted independently."""
        self._end_header()
        self._builder.add_page(PageWords(f"sheet {self._name}", source, self._read, left_out or {}))

    def end_damaged(self) -> None:
        """The rest of the sheet cannot be read, nor its words be counted."""
        self.end(self._read, {MISSING: 0})

    def _end_header(self) -> None:
        if self._waiting:
            self._block(*self._waiting)
        self._header, self._waiting = {}, None

    def _block(self, number: int, text: str) -> None:
        self._builder.add_block(text, f"sheet {self._name}, row {number}")


def _is_header(cells: Sequence[Cell]) -> bool:
    names = {cell.text for cell in cells}
    return 1 < len(cells) == len(names) and all(cell.words and len(cell.text) <= _LONGEST_NAME for cell in cells)
