"""The parts of a block of a web page: lines of text or code, table rows and list markers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from oreqa.corpus.builder import count_words
from oreqa.corpus.formats.table_rows import MAX_NAME, TableRows

_MAX_COLUMNS, _ALL_ROWS = 100, 65_534
"""The most columns that a cell may span, and the rows of one that spans all that follow."""

_NO_WIDTH = dict.fromkeys(map(ord, "\xad\u200b\ufeff\u2060"))
"""Invisible characters, such as soft hyphens, which mark where a word may be broken."""


class Lines:
    """Collects lines of text, with white space collapsed except in code."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._pieces: list[str] = []
        self._code = False
        self.has_text = False

    def add(self, text: str, code: bool) -> bool:
        """Add text from the page. Returns True if it is the first visible text."""
        text = text.translate(_NO_WIDTH)
        self._pieces.append(text)
        self._code = self._code or code
        if self.has_text or text.isspace() or not text:
            return False
        self.has_text = True
        return True

    @property
    def tail(self) -> str:
        """The end of the current line so far."""
        return "".join(self._pieces[-3:])[-8:]

    def separate(self) -> None:
        """Separate two words."""
        self._pieces.append(" ")

    def end_line(self, once: bool = False) -> None:
        """End a line; with ``once``, unless one has just ended."""
        line = "".join(self._pieces)
        self._pieces.clear()
        if not self._code:
            line = " ".join(line.split())
        elif line and (line[-1] == "\n" or (once and line.isspace())):
            line = line[:-1]
        elif once and not line:
            return
        self._lines.append(line)

    def take(self) -> str:
        """Return the lines so far and start over."""
        if not self.has_text:
            self._lines.clear()
            self._pieces.clear()
            self._code = False
            return ""
        self.end_line()
        lines = self._lines
        if self._code:
            lines = [line.replace("\xa0", " ").rstrip() for line in "\n".join(lines).split("\n")]
        text = "\n".join(lines).strip("\n") if self._code else "\n".join(line for line in lines if line)
        self._lines, self._pieces, self._code, self.has_text = [], [], False, False
        return text


@dataclass(frozen=True, slots=True)
class SpannedCell:
    """A cell's text, and how many columns and rows it spans."""

    text: str
    columns: int = 1
    rows: int = 1


@dataclass(slots=True)
class Table:
    """An open table and its current row."""

    rows: TableRows
    cells: list[SpannedCell] = field(default_factory=list)
    heads: int = 0  # how many of the row's cells are headers
    cell: list[str] | None = None  # the lines of the open cell
    span: tuple[int, int] = (1, 1)  # the columns and rows of the open cell
    place: str = ""
    is_detached: bool = False  # whether the open cell's blocks are separate from the row
    above: dict[int, SpannedCell] = field(default_factory=dict)  # cells that span into the next row, by column

    def open_cell(self, attributes: Mapping[str, str]) -> None:
        """Begin a cell, which may span columns and rows."""
        columns, rows = (number_of(attributes.get(name, ""), 1) for name in ("colspan", "rowspan"))
        self.cell, self.span = [], (min(max(columns, 1), _MAX_COLUMNS), rows or _ALL_ROWS)

    def close_cell(self) -> None:
        """End the open cell; a long text is only in the first of its rows."""
        text = " ".join(self.cell or ())
        self.cells.append(SpannedCell(text, self.span[0], self.span[1] if len(text) <= MAX_NAME else 1))
        self.cell = None

    def add_row(self) -> None:
        """Add the row, if there is one, with the cells that span into it."""
        if not self.cells:
            return
        below: dict[int, SpannedCell] = {}
        columns, texts = list[str](), list[str]()
        cells = iter(self.cells)
        words = sum(count_words(cell.text) for cell in self.cells)
        cell = next(cells, None)
        last = max(self.above, default=-1)
        while cell or len(columns) <= last:
            column = len(columns)
            if (current := self.above.get(column)) is None:
                if cell is None:
                    columns.append("")
                    continue
                current, cell = cell, next(cells, None)
            columns += [current.text] * current.columns
            texts.append(current.text)
            if current.rows > 1:
                below[column] = replace(current, rows=current.rows - 1)
        is_header, self.above = self.heads == len(self.cells), below
        self.cells, self.heads = [], 0
        self.rows.add(columns, self.place, is_header=is_header, texts=texts, words=words)


@dataclass(slots=True)
class List:
    """An open list: the number of its next item, None for bullets, and its ``type`` attribute."""

    number: int | None = None
    kind: str = ""

    def marker(self, value: str) -> str:
        """Return the next item's marker, such as "3. "; ``value`` is the item's own number, if it has one."""
        if self.number is None:
            return "- "
        number = number_of(value, self.number)
        self.number = number + 1
        if self.kind in ("a", "A") and 0 < number <= 26:
            return f"{chr(ord(self.kind) + number - 1)}. "
        return f"{number}. "


def number_of(text: str, default: int) -> int:
    """Return an attribute's number, or ``default`` if it has none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else default
