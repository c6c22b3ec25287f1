"""Table rows as text that names their columns, the positions of cells in it, and answers that are cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from oreqa.core import Range, Span

CELL_GAP = " | "
"""The separator of cells in a row that does not name its columns."""

_PART = re.compile(r"([^:;]{1,60}): (.{1,80})")
"""A cell with its column's name. Anything longer is prose that contains colons and semicolons."""


def row_text(cells: Iterable[tuple[str | None, str]], gap: str = "; ") -> str:
    """Return the text of cells, each after its column's name if it has one: ``country: Bhutan; capital: Thimphu``."""
    return gap.join(f"{name}: {value}" if name else value for name, value in cells)


def record_text(names: Sequence[str], values: Sequence[str]) -> str | None:
    """Return the ``row_text`` of a row's non-empty cells, or None if ``row_cells`` could not parse it."""
    filled = [(name, value) for name, value in zip(names, values, strict=False) if value]
    text = row_text(filled)
    cells = [(text[slice(*name)], text[slice(*value)]) for name, value in row_cells(text, 0)]
    return text if cells and cells == filled and len(names) == len(values) else None


def row_cells(text: str, place: int) -> list[tuple[Range, Range]]:
    """Return the cells of the table row at the character ``place``: the ranges of the column's name and of the value.

    There are none unless the line is the ``row_text`` of two or more cells that all have names.
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
    """Return the cell in which a span of ``text`` begins, if its row names its columns; for a column's name, its value.

    No answer then crosses a cell border or is a column's name.
    """
    for (begin, _), (start, end) in row_cells(text, span.start):
        if begin <= span.start < end:
            return replace(span, text=text[start:end], start=start, end=end)
    return span
