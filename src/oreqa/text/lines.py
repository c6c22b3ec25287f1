"""Line breaks: those that end a paragraph, an item, a row or a line of a list, and those that wrap prose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from oreqa.text.rows import CELL_GAP

# Line breaks before a list item or table row, and after a table row.
_ITEM = re.compile(r"\n(?=[ \t]*(?:[-*+•‣◦]|\d{1,3}(?:\.\d{1,3})*[.)])[ \t]+\S|[ \t]*\|)|(?<=\|)[ \t]*\n")
_SETTING = re.compile(r"\s*[\w.-]+(?: [\w.-]+){0,2} ?[:=] ?\S")
_CODE = re.compile(r"[{}<>|=\\_#$`\[\]]|\w\(")

_GAP = re.compile(r"(?<=\S) *\t[ \t]*(?=\S)")
_COLON = re.compile(r"(?<=[^\s:]):(?=[^\s:/])(?!(?<=\d:)\d)|(?<=\S)::(?=\S)")
"""Separators of fields in lines: tabs, or colons without blanks, except in times."""

_COLUMN_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")

_BLANK_LINE = re.compile(r"\n\s*\n")

MIN_LIST_LINES = 3
"""The fewest lines of a list."""

COLUMNS = 0.8
"""The smallest share of a columnar list's lines that are divided in the same way."""

MIN_COLUMN = 60
"""The narrowest column, in characters, to which prose may be wrapped."""

WIDEST_COLUMN = 160
"""The widest column, in characters, to which prose may be wrapped: longer lines are whole paragraphs."""

WRAPPED = 2 / 3
"""The smallest share of line breaks in wrapped prose at which the next word would not have fitted."""

MAX_CODE = 0.02
"""The largest share of code characters in a block of prose."""


def line_ends(text: str) -> list[int]:
    """Return the places where list items, table rows, and lines of blocks that list things end, in order.

    A block lists things line by line, like addresses, opening hours or settings, if its lines do not look wrapped: prose is
    wrapped where the next word would not fit, and continues in lower case.
    """
    ends = {match.end() for match in _ITEM.finditer(text)}
    for lines in _blocks(text):
        divided = _divider([line for line, _ in lines])
        listed = divided or _is_list([line for line, _ in lines])
        ends |= {
            end
            for (line, end), (next_line, _) in pairwise(lines)
            if (listed and not (divided and _goes_on(divided, next_line))) or CELL_GAP in line or CELL_GAP in next_line
        }
    return sorted(ends)


def field_ends(text: str) -> list[int]:
    """Return the places where fields of lines begin and end, at tabs and at the colons of lists: no answer crosses one."""
    ends = [place for gap in _GAP.finditer(text) for place in gap.span()]
    for lines in _blocks(text):
        if _divider([line for line, _ in lines]) is _COLON:
            for line, end in lines:
                ends += [end - len(line) - 1 + place for colon in _COLON.finditer(line) for place in colon.span()]
    return sorted(ends)


def _divider(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return what divides the lines of a block into columns; None if it is no columnar list."""
    if len(lines) < MIN_LIST_LINES:
        return None
    if sum(bool(_GAP.search(line)) for line in lines) >= COLUMNS * len(lines):
        return _GAP
    usual, times = Counter(len(_COLON.findall(line)) for line in lines).most_common(1)[0]
    return _COLON if usual and times >= COLUMNS * len(lines) else None


def _goes_on(divider: re.Pattern[str], line: str) -> bool:
    """Return whether a line continues the previous one in a columnar list: it is indented, and has no fields."""
    return line[0].isspace() and not divider.search(line)


def unit_ends(text: str) -> list[int]:
    """Return the places where paragraphs and the units of ``line_ends`` end, in order: no answer crosses one."""
    return sorted([gap.start() for gap in _BLANK_LINE.finditer(text)] + line_ends(text))


def wraps(text: str) -> Iterator[int]:
    """Yield the places of line breaks that wrap prose, but not those of lists, verse, tables and code."""
    ends = set(line_ends(text))
    for lines in _blocks(text):
        if len(lines) < MIN_LIST_LINES and not _ends_sentence(lines[-1][0]):
            continue  # two commands look like prose wrapped once
        width = max(MIN_COLUMN, *(len(line.rstrip()) for line, _ in lines))
        if width > WIDEST_COLUMN:
            continue
        if sum(len(_CODE.findall(line)) for line, _ in lines) > MAX_CODE * sum(len(line) for line, _ in lines):
            continue
        for (line, end), (next_line, _) in pairwise(lines):
            if end in ends or _columns(line) & _columns(next_line):
                continue
            if _indentation(next_line) <= _indentation(line) and _is_wrapped(line, next_line, width):
                yield end - 1


def _columns(line: str) -> set[int]:
    """Return where words of a line begin after several blanks, as in tables."""
    return {gap.end() for gap in _COLUMN_GAP.finditer(line)}


def _blocks(text: str) -> Iterator[list[tuple[str, int]]]:
    """Yield the runs of non-blank lines, each line with the place where the next one begins."""
    end, lines = 0, list[tuple[str, int]]()
    for line in text.split("\n"):
        end += len(line) + 1
        if line.strip():
            lines.append((line, end))
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


def _is_list(lines: Sequence[str]) -> bool:
    if len(lines) < MIN_LIST_LINES:
        return False
    if all(_SETTING.match(line) for line in lines):
        return True
    if any(line.lstrip()[0].islower() for line in lines[1:]):
        return False
    width = max(len(line.rstrip()) for line in lines)
    if width < MIN_COLUMN:  # too narrow to judge by width: prose ends like a sentence
        return not _ends_sentence(lines[-1])
    wrapped = [_is_wrapped(line, next_line, width) for line, next_line in pairwise(lines)]
    return sum(wrapped) < WRAPPED * len(wrapped)


def _ends_sentence(line: str) -> bool:
    return line.rstrip(" \t\r\"'”’»)]").endswith((".", "!", "?", "…", ":"))


def _is_wrapped(line: str, next_line: str, width: int) -> bool:
    """Return whether the first word of the next line would not have fitted into ``width`` characters."""
    return len(line.rstrip()) + 1 + len(next_line.split(maxsplit=1)[0]) > width


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
