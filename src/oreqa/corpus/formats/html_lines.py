"""The lines of a paragraph or of code, the row of a table and the items of a list, as a page's tags give them."""

from __future__ import annotations

from dataclasses import dataclass, field

_NO_WIDTH = dict.fromkeys(map(ord, "\xad\u200b\ufeff\u2060"))
"""Soft hyphens and the like: places where a word may be broken."""


class Lines:
    """Text without superfluous blanks; code keeps its own."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._pieces: list[str] = []
        self._code = False
        self.has_text = False

    def add(self, text: str, code: bool) -> bool:
        """Add text as the page has it. True if it is the first that shows anything."""
        text = text.translate(_NO_WIDTH)
        self._pieces.append(text)
        self._code = self._code or code
        if self.has_text or text.isspace() or not text:
            return False
        self.has_text = True
        return True

    def part(self) -> None:
        """Part two words."""
        self._pieces.append(" ")

    def end_line(self, once: bool = False) -> None:
        """End a line; ``once``: unless it has just ended."""
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
        """The lines so far; what comes next begins anew."""
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
    """A table whose row is being read."""

    cells: list[str] = field(default_factory=list)
    cell: list[str] | None = None  # the lines of the open cell
    place: str = ""
    free: bool = False  # the open cell's text stands on its own, outside of the row
    between: str = " | "


@dataclass(slots=True)
class List:
    """A list and the number of its next item, which may be shown as a letter."""

    number: int | None = None
    kind: str = ""

    def marker(self, value: str) -> str:
        if self.number is None:
            return "- "
        number = number_of(value, self.number)
        self.number = number + 1
        if self.kind in ("a", "A") and 0 < number <= 26:
            return f"{chr(ord(self.kind) + number - 1)}. "
        return f"{number}. "


def number_of(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else otherwise
