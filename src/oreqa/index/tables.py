"""The complete tables of documents: all rows of a CSV or JSON file, and tables in the text of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from oreqa.arguments import Conditions
from oreqa.core import Passage, Range
from oreqa.index.snapshot import Snapshot
from oreqa.text.rows import CELL_GAP, row_cells

MAX_PASSAGES = 20_000
"""The most passages of a file or document whose tables are read."""

_ROW = "#"
_CAPTION = 160


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row:

    ``start`` and ``end`` are character offsets into the document's text, as are the ranges of its ``cells``, by column.
    """

    passage: Passage
    start: int
    end: int
    cells: Mapping[str, Range]

    @property
    def text(self) -> str:
        """The row as written in the document."""
        return self._slice(self.start, self.end)

    def cell(self, column: str) -> str:
        """Return the value in a column, empty if the row has none."""
        return self._slice(*self.cells[column]) if column in self.cells else ""

    def _slice(self, start: int, end: int) -> str:
        return self.passage.text[start - self.passage.start : end - self.passage.start]


@dataclass(frozen=True, slots=True)
class WholeTable:
    """All rows of a table, its columns in order, and what names it: its file, title, heading and the line before it."""

    head: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


def tables_around(snapshot: Snapshot, passage_ids: Iterable[int], where: Conditions) -> list[WholeTable]:
    """Return the distinct tables of the documents of some passages; of a file of rows, those that fulfil ``where``.

    Only tables with named columns whose every row could be read: others are not known to be complete.
    """
    tables, seen = [], set()
    for passage_id in passage_ids:
        source, key, document = snapshot.source_of(passage_id)
        place = source if key.startswith(source + _ROW) else key
        if place in seen:
            continue
        seen.add(place)
        passages = snapshot.passages_of(source if place == source != key else document, where, MAX_PASSAGES)
        if place == source != key:
            tables += _row_tables(source, passages)
        else:
            tables += _in_text(passages)
    return tables


def _row_tables(source: str, passages: Sequence[Passage]) -> list[WholeTable]:
    """Return the table of a file of rows; none if a row exceeds a passage or does not consist of columns."""
    rows = [_row(passage, 0, len(passage.text)) for passage in passages]
    if len({passage.document_key for passage in passages}) < len(passages) or not any(row.cells for row in rows):
        return []
    columns = _columns(rows)
    rows = [row if row.cells else _by_names(row, columns) for row in rows]
    return [WholeTable(_file_name(source), columns, tuple(rows))] if all(row.cells for row in rows) else []


def _by_names(row: TableRow, columns: Sequence[str]) -> TableRow:
    """Re-read a row by its column names if its cells contain semicolons or are long."""
    text, start = row.passage.text, row.passage.start
    names = "|".join(map(re.escape, sorted(columns, key=len, reverse=True)))
    cells = list(re.finditer(rf"(?:^|; |\n)({names}): ", text)) if names else []
    if not cells or cells[0].start() or len({cell[1] for cell in cells}) < len(cells):
        return row
    ends = [*(cell.start() for cell in cells[1:]), len(text)]
    values = {cell[1]: (start + cell.end(), start + end) for cell, end in zip(cells, ends, strict=True)}
    return TableRow(row.passage, row.start, row.end, values)


def _in_text(passages: Sequence[Passage]) -> list[WholeTable]:
    """Return the tables in a document's text: runs of rows under one heading, with no row-like lines around them."""
    tables: list[WholeTable] = []
    for heading, section in groupby(passages, key=lambda passage: passage.heading):
        runs: list[tuple[str, list[TableRow]]] = []
        before, is_run = "", False
        for passage, start, end in _lines(section):
            row = _row(passage, start, end)
            if not row.cells and is_run:
                row = _lone_cell(row, runs[-1][1])
            if not row.cells:
                before, is_run = row.text, False
                continue
            if not is_run:
                runs.append((before, []))
            runs[-1][1].append(row)
            is_run = True
        names = [frozenset(_columns(rows)) for _, rows in runs]
        for number, (caption, rows) in enumerate(runs):
            like = any(len(names[number] & other) > 1 for n, other in enumerate(names) if n != number)
            head = f"{_file_name(passages[0].document_key)} {passages[0].title} {heading}"
            if not like and CELL_GAP not in caption and len(rows) > 1:
                head += f" {caption}" if len(caption) <= _CAPTION else ""
                tables.append(WholeTable(head, _columns(rows), tuple(rows)))
    return tables


def _lines(passages: Iterable[Passage]) -> Iterator[tuple[Passage, int, int]]:
    """Yield the non-blank lines of passages, each with its passage, start and end."""
    for passage in passages:
        for match in re.finditer(r"\S.*", passage.text):
            yield passage, match.start(), match.start() + len(match.group().rstrip())


def _row(passage: Passage, start: int, end: int) -> TableRow:
    cells = {
        passage.text[slice(*name)]: (passage.start + value[0], passage.start + value[1])
        for name, value in row_cells(passage.text, start)
        if value[1] <= end
    }
    return TableRow(passage, passage.start + start, passage.start + end, cells)


def _lone_cell(row: TableRow, rows: Sequence[TableRow]) -> TableRow:
    """Return a row with a single cell under the name of a column of the rows before it."""
    name, mark, value = row.text.partition(": ")
    is_cell = bool(mark and value) and any(name in other.cells for other in rows)
    return TableRow(row.passage, row.start, row.end, {name: (row.end - len(value), row.end)}) if is_cell else row


def _columns(rows: Iterable[TableRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in row.cells))


def _file_name(path: str) -> str:
    """Return a file name without its suffix."""
    return path.rpartition("/")[2].partition(".")[0]
