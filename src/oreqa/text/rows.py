"""The text of a table's row, which names its columns, and where its cells stand in such a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from oreqa.core import Range

_LABELLED = re.compile(r"[ \t]*([^:;|\n]{1,30}): (?:\| )?(\S.{0,79})")
"""A line of a record: ``Type: boolean``, or ``Default: | yes`` from a table."""

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


def labelled_lines(text: str, place: int) -> list[tuple[Range, Range]]:
    """Return the lines around the character ``place`` that a record of settings has: where its labels stand, and its values.

    There are none unless two lines or more on end are of the form ``Default: yes``.
    """
    begin = max(text.rfind("\n\n", 0, place) + 2, 0) if "\n\n" in text[:place] else 0
    end = text.find("\n\n", place)
    runs: list[list[tuple[Range, Range]]] = [[]]
    for line in text[begin : len(text) if end < 0 else end].splitlines(keepends=True):
        if match := _LABELLED.fullmatch(line.rstrip("\r\n")):
            (start, stop), (first, last) = match.span(1), match.span(2)
            runs[-1].append(((begin + start, begin + stop), (begin + first, begin + last)))
        else:
            runs.append([])
        begin += len(line)
    return next((run for run in runs if len(run) > 1 and run[0][0][0] <= place <= run[-1][1][1]), [])
