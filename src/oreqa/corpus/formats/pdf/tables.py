"""Finds the tables among a page's lines: runs of lines with parts aligned in columns, mostly between rules."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from oreqa.corpus.formats.pdf.lines import Line
from oreqa.corpus.formats.pdf.rulings import Rule
from oreqa.corpus.formats.pdf.runs import CAPTION, ON_ROW, Gutter, LineRun, common, grow, inner, parts_of

Pieces = list[Line]
"""The pieces of a cell's text, each a part of a line; none if the cell is empty."""

_NEAR_RULE = 2.5
"""Greatest distance of a table's first or last line from its outer rules, as a multiple of the font size."""
_COVERED = 0.85
"""Least share of a table's width that its rules cover."""
_FEWEST = 4
"""Fewest rows of a table without rules."""
_TALLEST_HEADER = 3
_FEWEST_BANDS = 4
"""With this many parts between rules, each may be a row."""
_ITEM = re.compile(r"[-–—*•‣◦▪●○■□]|\(?\w{1,3}[.)]|\[[^\]]*\]")
_NUMBER_OF_FORMULA = re.compile(r"\(\d{1,3}(?:\.\d{1,3})*[a-z]?\)")
_SUPPORT = 0.5
"""Least share of the lines of a table without rules that have parts on both sides of a gap between columns."""
_WIDE = 1.2
"""A gap of this multiple of the font size, in all lines of a table between rules, separates columns."""
_CODE = re.compile(r"[\\{}%;=$<>]|\w\(")
_FEW_RULES = 2
"""The most rules that may frame a listing or a table; more separate the rows of a table."""
_WORDY = re.compile(r"\w\w|\d")


@dataclass(slots=True)
class RowOfCells:
    """A row of a table, or a line of one. Cells of a row that ``spans`` columns belong to no column."""

    base: float
    cells: list[Pieces]
    spans: bool = False

    @property
    def filled(self) -> int:
        return sum(map(bool, self.cells))


@dataclass(slots=True)
class PageTable:
    """A table: its lines from ``first`` up to ``end`` in a page's lines, and its rows, the first of which may be its
    header."""

    first: int
    end: int
    rows: list[RowOfCells]
    has_header: bool


def may_have_tables(lines: Sequence[Line]) -> bool:
    """Return whether lines of a page are aligned in columns, so that its rules matter."""
    return any(_may_start(lines, at) for at in range(len(lines)))


def find_tables(lines: Sequence[Line], rules: Sequence[Rule]) -> list[PageTable]:
    """Return the tables among a page's lines, in order."""
    tables: list[PageTable] = []
    at = 0
    while at < len(lines):
        if not _may_start(lines, at):
            at += 1
            continue
        run = grow(lines, at)
        part = _table_part(run, rules)
        if part is None:
            at = max(at + 1, run.end - 1)
        else:
            tables.append(_arrange(part, tables[-1].end if tables else 0))
            at = part.end
    return tables


def _may_start(lines: Sequence[Line], at: int) -> bool:
    """Return whether a table may start at a line: it has several parts, and one of the two lines below it is not prose."""
    line = lines[at]
    if len(line.parts) < 2 or line.leaders or CAPTION.match(line.text):
        return False
    left, right = line.parts[0].right, line.parts[-1].left
    return any(below.parts or below.left > left or below.right < right for below in lines[at + 1 : at + 3])


def _table_part(run: LineRun, rules: Sequence[Rule]) -> LineRun | None:
    """Return the part of a run that is a table, or None; without rules, it must resemble one more closely."""
    if not run.gutters or _is_code(run):
        return None
    heights = [rule.height for rule in rules if _covers(rule, run)]
    run.rules = _rules_of(run, heights)
    # Lines below a table's last rule, such as notes, can be aligned with its columns by chance.
    if len(run.rules) > 2 and run.lines[run.end - 1].base < run.rules[-1] < run.lines[run.first + 1].base:
        end = next(at for at in range(run.first, run.end) if run.lines[at].base < run.rules[-1])
        run = grow(run.lines, run.first, end)
        run.rules = _rules_of(run, heights)
    if len(run.rules) < 2 and run.spanning:
        run = grow(run.lines, run.first, bridge=False)
        run.rules = _rules_of(run, heights)
    ruled = len(run.rules) > 1
    lines = [line for at, line in enumerate(run.lines[run.first : run.end], run.first) if at not in run.spanning]
    run.gutters = _supported(lines, run.gutters, ruled)
    rows = [row for row in (_columns(line, run.gutters) for line in lines) if len(row) > 1]
    if not run.gutters or len(rows) < 2 or _is_listing(rows, len(run.rules)):
        return None
    if ruled:
        return run
    if len(rows) < _FEWEST or 5 * len(rows) < 4 * len(lines):
        return None
    items = sum(_ITEM.fullmatch(row[0]) is not None for row in rows)
    formulas = sum(_NUMBER_OF_FORMULA.fullmatch(row[-1]) is not None for row in rows)
    cells = [cell for row in rows for cell in row]
    lists = sum(cell.endswith(",") for row in rows for cell in row[:-1])
    worded = sum(_WORDY.search(cell) is not None for cell in cells)
    is_text = 2 * items < len(rows) and 3 * formulas < len(rows) and 3 * lists < len(cells) and 4 * worded >= 3 * len(cells)
    return run if is_text else None


def _supported(lines: Sequence[Line], gutters: Sequence[Gutter], ruled: bool) -> list[Gutter]:
    """Return the gutters with parts on both sides in many lines, or wide ones between rules; others separate words."""
    fewest = 2 if ruled else max(2, _SUPPORT * len(lines))
    wide = _WIDE * lines[0].size if ruled else math.inf
    seen = Counter(
        at
        for line in lines
        for at, (left, right, _) in enumerate(gutters)
        if line.left <= left and right <= line.right
        if any(a.right <= left and right <= b.left for a, b in pairwise(line.parts))
    )
    return [
        gutter for at, gutter in enumerate(gutters) if seen[at] >= fewest or (seen[at] and gutter[1] - gutter[0] >= wide)
    ]


def _columns(line: Line, gutters: Sequence[Gutter]) -> list[str]:
    """Return the text of a line's non-empty columns."""
    middles = [(left + right) / 2 for left, right, _ in gutters]
    columns = groupby(parts_of(line), key=lambda part: bisect(middles, (part.left + part.right) / 2))
    groups = [list(group) for _, group in columns]
    return [line.text[group[0].start : group[-1].end] for group in groups]


def _is_listing(rows: Sequence[Sequence[str]], rules: int) -> bool:
    """Return whether rows begin with numbers that count them, as in listings of code or in verse."""
    starts = [unicodedata.normalize("NFKC", row[0]) for row in rows]
    numbers = [int(start) for start in starts if start.isdecimal()]
    if len(numbers) < 2 or 3 * len(numbers) < len(rows) or not starts[0].isdecimal():
        return False
    code = sum(_CODE.search(row[-1]) is not None for row in rows)
    counted = 4 * sum(b == a + 1 for a, b in pairwise(numbers)) >= 3 * (len(numbers) - 1)
    return counted and (rules <= _FEW_RULES or 3 * code > len(rows))


def _rules_of(run: LineRun, heights: Sequence[float]) -> tuple[float, ...]:
    """Return the heights of the rules above a run, within it and below it, from the top down."""
    first, last = run.lines[run.first], run.lines[run.end - 1]
    near = _NEAR_RULE * first.size
    above = [height for height in heights if first.base < height <= first.top + near]
    inside = [height for height in heights if last.base < height < first.base]
    below = [height for height in heights if last.base - near <= height <= last.base]
    return (*above[-1:], *inside, *below[:1])


def _arrange(run: LineRun, after: int) -> PageTable:
    """Return a run's table. Lines from ``after`` on between its first rule and its first line are its header."""
    first = run.first
    if run.rules and run.rules[0] > run.lines[first].base:
        while first > max(after, run.first - _TALLEST_HEADER) and _is_above(run.lines[first - 1], run):
            first -= 1
    lines = [(at, run.lines[at]) for at in range(first, run.end)]
    rows = _rows(lines, run.gutters, run.spanning)
    bands = [list(band) for _, band in groupby(rows, key=lambda row: bisect([-height for height in run.rules], -row.base))]
    is_grid = len(bands) > 2 and all(sum(bool(row.cells[0]) for row in band) <= 1 for band in bands)
    head = next((height for height in run.rules if height < run.lines[run.first].base), -math.inf)
    tall = sum(row.base > head for row in rows)
    if is_grid or not 0 < tall <= min(_TALLEST_HEADER, len(rows) - 1):
        tall = _bold_rows(rows)
    else:  # column names may run into each other
        body = [line for at, line in lines if line.base < head and at not in run.spanning]
        gutters = _supported(body, _gutters(body), ruled=True)
        if len(gutters) > len(run.gutters):
            rows = _rows(lines, gutters, run.spanning)
    titles = [row for row in rows[:tall] if row.spans]
    names = [row for row in rows[:tall] if not row.spans]
    header = [_merged(names)] if names else []
    by_band = is_grid and len(bands) >= _FEWEST_BANDS
    return PageTable(first, run.end, [*titles, *header, *_logical(rows[tall:], run.rules, by_band)], bool(header))


def _rows(lines: Sequence[tuple[int, Line]], gutters: Sequence[Gutter], spanning: Set[int]) -> list[RowOfCells]:
    """Return the rows that lines belong to, from the top down; those ``spanning`` columns are rows by themselves."""
    rows: list[RowOfCells] = []
    for at, line in lines:
        _add_line(rows, line, gutters, spans=at in spanning)
    return sorted(rows, key=lambda row: -row.base)


def _is_above(line: Line, run: LineRun) -> bool:
    """Return whether a line is between a run's first rule and its first line, above columns other than the first."""
    first = run.lines[run.first]
    return (
        first.base < line.base < run.rules[0]
        and line.left > run.gutters[0][0]
        and line.right < run.right + line.size
        and not CAPTION.match(line.text)
    )


def _gutters(lines: Sequence[Line]) -> list[Gutter]:
    """Return the gaps between the columns of lines."""
    gaps: list[Gutter] = [(-math.inf, math.inf, 0)]
    for line in lines:
        gaps = common(gaps, line)
    left, right = min((line.left for line in lines), default=0), max((line.right for line in lines), default=0)
    return inner(gaps, left, right)


def _add_line(rows: list[RowOfCells], line: Line, gutters: Sequence[Gutter], *, spans: bool) -> None:
    """Put the parts of a line into the columns of its row."""
    parts = parts_of(line)
    if spans or any(part.left < left and right < part.right for part in parts for left, right, _ in gutters):
        rows.append(RowOfCells(line.base, [[_piece(line, part.start, part.end)] for part in parts], spans=True))
        return
    row = next((row for row in rows[::-1] if abs(row.base - line.base) <= ON_ROW * line.size and not row.spans), None)
    if row is None:
        row = RowOfCells(line.base, [[] for _ in range(len(gutters) + 1)])
        rows.append(row)
    middles = [(left + right) / 2 for left, right, _ in gutters]
    for column, group in groupby(parts, key=lambda part: bisect(middles, (part.left + part.right) / 2)):
        members = list(group)
        row.cells[column].append(_piece(line, members[0].start, members[-1].end))


def _piece(line: Line, start: int, end: int) -> Line:
    """Return the characters ``start`` to ``end`` of a line as a line."""
    hyphen = line.hyphen and end == len(line.text)
    return replace(line, text=line.text[start:end], start=start, parts=(), gap=0.0, hyphen=hyphen)


def _bold_rows(rows: Sequence[RowOfCells]) -> int:
    """Return how many rows at the top are bold, 0 if all are."""
    bold = [all(piece.bold for cell in row.cells for piece in cell) for row in rows]
    return 0 if all(bold) else bold.index(False)


def _logical(rows: Sequence[RowOfCells], rules: Sequence[float], by_band: bool) -> list[RowOfCells]:
    """Join the lines of each row: those between two rules, or those that continue some of its cells but not the first."""
    joined: list[RowOfCells] = []
    band = -1
    for row in rows:
        above, band = band, bisect([-height for height in rules], -row.base)
        last = joined[-1] if joined else None
        if last is None or last.spans or row.spans or above != band:
            joined.append(row)
        elif by_band or (row.filled <= max(1, (len(row.cells) - 1) // 2) and not row.cells[0] and _goes_on(row, last)):
            joined[-1] = _merged([last, row])
        else:
            joined.append(row)
    return joined


def _goes_on(row: RowOfCells, last: RowOfCells) -> bool:
    return all(above or not cell for cell, above in zip(row.cells, last.cells, strict=True))


def _merged(rows: Sequence[RowOfCells]) -> RowOfCells:
    columns = zip(*(row.cells for row in rows), strict=True)
    return RowOfCells(rows[0].base, [[piece for cell in column for piece in cell] for column in columns])


def _covers(rule: Rule, run: LineRun) -> bool:
    return min(rule.right, run.right) - max(rule.left, run.left) >= _COVERED * (run.right - run.left)


def _is_code(run: LineRun) -> bool:
    lines = run.lines[run.first : run.end]
    return 2 * sum(line.mono for line in lines) > len(lines)
