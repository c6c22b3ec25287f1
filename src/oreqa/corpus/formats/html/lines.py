"""The parts of a block of a web page: lines of text or code, table rows and list markers."""

from __future__ import annotations

from dataclasses import dataclass, field

from oreqa.corpus.formats.table_rows import TableRows

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


@dataclass(slots=True)
class Table:
    """An open table and its current row."""

    rows: TableRows
    cells: list[str] = field(default_factory=list)
    heads: int = 0  # how many of the row's cells are headers
    cell: list[str] | None = None  # the lines of the open cell
    place: str = ""
    is_detached: bool = False  # whether the open cell's blocks are separate from the row


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
