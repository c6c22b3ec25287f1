"""Rows of tables as text that names their columns, where the cells stand in it, and answers that are cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from oreqa.core import Range, Span

CELL_GAP = " | "
"""What stands between the cells of a row that does not name its columns."""

_PART = re.compile(r"([^:;]{1,60}): (.{1,80})")
"""A cell with its column's name. What is longer is prose that holds colons and semicolons."""


def row_text(cells: Iterable[tuple[str | None, str]], gap: str = "; ") -> str:
    """Return the text of cells, each after its column's name if it has one: ``country: Bhutan; capital: Thimphu``."""
    return gap.join(f"{name}: {value}" if name else value for name, value in cells)


def record_text(names: Sequence[str], values: Sequence[str]) -> str | None:
    """Return the ``row_text`` of a row's filled cells, or None if ``row_cells`` would not read its cells back from it."""
    filled = [(name, value) for name, value in zip(names, values, strict=False) if value]
    text = row_text(filled)
    cells = [(text[slice(*name)], text[slice(*value)]) for name, value in row_cells(text, 0)]
    return text if cells and cells == filled and len(names) == len(values) else None


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


def whole_cell(span: Span, text: str) -> Span:
    """The cell that a span of ``text`` begins in, if that is in a row which names its columns; of a name, its value.

    No answer then runs over a cell or is a column's name.
    """
    for (begin, _), (start, end) in row_cells(text, span.start):
        if begin <= span.start < end:
            return replace(span, text=text[start:end], start=start, end=end)
    return span
