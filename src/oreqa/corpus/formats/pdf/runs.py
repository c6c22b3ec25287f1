"""Runs of lines of a PDF's page whose parts are aligned in columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from oreqa.corpus.formats.pdf.lines import Line, Part

_GUTTER = 0.5
"""Least width of the gap between two columns, as a share of the font size."""
_STEP = 3.0
"""Greatest distance between the lines of a table, as a multiple of the font size."""
ON_ROW = 0.3
"""Lines whose heights differ by less than this share of the font size are in one row."""
CAPTION = re.compile(r"(?:tab(?:le|elle|leau|la|ela|ella|el)?|figure|fig|abbildung|abb|listing)\.?\s?\d", re.I)

_SEEN = 2
"""A gutter between parts of this many lines is confirmed: a line across it ends the run."""

Gutter = tuple[float, float, int]
"""The edges of a gap that all lines of a run leave free, and how many of them have parts on both sides of it."""


@dataclass(slots=True)
class LineRun:
    """Lines from ``first`` up to ``end`` that leave the ``gutters`` between their columns free.

    ``rules`` are the heights of the rules across it, from the top down; ``spanning`` are lines across gutters.
    """

    lines: Sequence[Line]
    first: int
    end: int
    gutters: list[Gutter]
    left: float
    right: float
    spanning: set[int] = field(default_factory=set)
    rules: tuple[float, ...] = ()

    def narrow(self, line: Line) -> bool:
        """Take a line into account if it leaves the gutters free. Returns whether it does."""
        left, right = min(self.left, line.left), max(self.right, line.right)
        gutters = common(self.gutters, line)
        left_free = inner(gutters, left, right)
        fewest = _SEEN if line.parts else 1
        for low, high, seen in inner(self.gutters, self.left, self.right):
            if seen >= fewest and not any(low <= a and b <= high for a, b, _ in left_free):
                return False
        if not left_free:
            return False
        self.gutters, self.left, self.right = gutters, left, right
        return True

    def goes_on(self, line: Line, above: Line) -> bool:
        """Return whether a line fits the run's columns, even below a line that does not."""
        if len(line.parts) < 2 or not _follows(line, above, above.base, above.base):
            return False
        return replace(self).narrow(line)


def grow(lines: Sequence[Line], first: int, end: int | None = None, *, bridge: bool = True) -> LineRun:
    """Return the longest run from a line on, up to ``end``. With ``bridge``, it includes single lines across its gutters."""
    start = lines[first]
    run = LineRun(lines, first, first + 1, common([(-math.inf, math.inf, 0)], start), start.left, start.right)
    top = low = start.base
    last = len(lines) if end is None else end
    while run.end < last:
        line = lines[run.end]
        if not _follows(line, lines[run.end - 1], top, low):
            break
        if run.narrow(line):
            top = line.base if line.left < run.left + line.size else top
        elif bridge and not line.parts and run.end + 1 < last and run.goes_on(lines[run.end + 1], line):
            run.spanning.add(run.end)
        else:
            break
        low = min(low, line.base)
        run.end += 1
    run.gutters = inner(run.gutters, run.left, run.right)
    return run


def _follows(line: Line, above: Line, top: float, low: float) -> bool:
    """Return whether a line can continue the run that ends in ``above``, with its last row from ``top`` to ``low``."""
    if line.leaders or CAPTION.match(line.text):
        return False
    if low - line.base > ON_ROW * line.size:
        return low - line.base <= _STEP * max(line.size, above.size)
    # Cells of several lines are written one after the other.
    return line.left > above.left and line.base <= top + ON_ROW * line.size


def parts_of(line: Line) -> tuple[Part, ...]:
    return line.parts or (Part(0, len(line.text), line.left, line.right),)


def common(gutters: Sequence[Gutter], line: Line) -> list[Gutter]:
    """Return what remains of gutters, from the left, beside the parts of a line."""
    edges = [(-math.inf, -math.inf), *((part.left, part.right) for part in parts_of(line)), (math.inf, math.inf)]
    gaps = [(a[1], b[0]) for a, b in pairwise(edges)]
    kept: list[Gutter] = []
    at = 0
    for left, right, seen in gutters:
        while gaps[at][1] <= left:
            at += 1
        pieces = [
            gap for gap in gaps[at:] if gap[0] < right and min(right, gap[1]) - max(left, gap[0]) >= _GUTTER * line.size
        ]
        for low, high in pieces:
            is_between = -math.inf < low and high < math.inf
            kept.append((max(left, low), min(right, high), is_between + (seen if len(pieces) == 1 else 0)))
    return kept


def inner(gutters: Sequence[Gutter], left: float, right: float) -> list[Gutter]:
    """Return the gutters between two edges, those of the lines' text."""
    return [gutter for gutter in gutters if left < gutter[0] and gutter[1] < right]
