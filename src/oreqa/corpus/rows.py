"""The text of a table's row, which names its columns, and where its cells stand in such a text."""

from __future__ import annotations

import re
from collections.abc import Iterable

Range = tuple[int, int]
"""Start and end offsets in characters, end-exclusive."""

_PART = re.compile(r"([^:;]{1,60}): (.{1,80})")
"""A cell with its column's name. What is longer is prose that holds colons and semicolons."""


def row_text(cells: Iterable[tuple[str | None, str]], gap: str = "; ") -> str:
    """Return the text of cells, each after its column's name if it has one: ``country: Bhutan; capital: Thimphu``."""
    return gap.join(f"{name}: {value}" if name else value for name, value in cells)


def row_cells(text: str, place: int) -> list[tuple[Range, Range]]:
    """Return the cells of the row of a table at the character ``place``: where the column's name stands, and the value.

    There are none if the line there is not ``row_text`` of two cells or more that all have names.
    """
    begin = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    cells = []
    for part in text[begin : len(text) if end < 0 else end].split("; "):
        match = _PART.fullmatch(part)
        if match is None:
            return []
        cells.append(((begin, begin + match.end(1)), (begin + match.start(2), begin + len(part))))
        begin += len(part) + len("; ")
    return cells if len(cells) > 1 else []
