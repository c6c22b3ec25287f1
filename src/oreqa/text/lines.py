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
"""What divides the fields of lines: tabs, or colons without blanks that are not those of times."""

_COLUMN_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")

_BLANK_LINE = re.compile(r"\n\s*\n")

MIN_LIST_LINES = 3
"""The fewest lines of a list."""

COLUMNS = 0.8
"""The least share of the lines of a list in columns that are divided in the same way."""

MIN_COLUMN = 60
"""The narrowest column, in characters, that prose is thought to be wrapped to."""

WIDEST_COLUMN = 160
"""The widest column, in characters, that prose is thought to be wrapped to: longer lines are whole paragraphs."""

WRAPPED = 2 / 3
"""The least share of the line breaks of wrapped prose at which the next word would not have fitted."""

MAX_CODE = 0.02
"""The most characters of code in a block of prose, as a share of all."""


def line_ends(text: str) -> list[int]:
    """Return the places where list items, table rows, and lines of blocks that list things end, in order.

    A block lists things line by line, as addresses, opening hours or settings do, if its lines do not look wrapped: prose is
    wrapped where the next word would not fit, and goes on with small letters.
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
    """Return the places where fields of lines begin and end, at tabs and at the colons of lists: no answer runs over one."""
    ends = [place for gap in _GAP.finditer(text) for place in gap.span()]
    for lines in _blocks(text):
        if _divider([line for line, _ in lines]) is _COLON:
            for line, end in lines:
                ends += [end - len(line) - 1 + place for colon in _COLON.finditer(line) for place in colon.span()]
    return sorted(ends)


def _divider(lines: Sequence[str]) -> re.Pattern[str] | None:
    """What divides the lines of a block into columns; None if it is no list in columns."""
    if len(lines) < MIN_LIST_LINES:
        return None
    if sum(bool(_GAP.search(line)) for line in lines) >= COLUMNS * len(lines):
        return _GAP
    usual, times = Counter(len(_COLON.findall(line)) for line in lines).most_common(1)[0]
    return _COLON if usual and times >= COLUMNS * len(lines) else None


def _goes_on(divider: re.Pattern[str], line: str) -> bool:
    """Whether a line of a list in columns goes on with the line before: it is indented, and has no fields."""
    return line[0].isspace() and not divider.search(line)


def unit_ends(text: str) -> list[int]:
    """Return the places where paragraphs and what ``line_ends`` finds end, in order: no answer runs over one."""
    return sorted([gap.start() for gap in _BLANK_LINE.finditer(text)] + line_ends(text))


def wraps(text: str) -> Iterator[int]:
    """Yield the places of the line breaks at which prose is wrapped; those of lists, verse, tables and code are not."""
    ends = set(line_ends(text))
    for lines in _blocks(text):
        if len(lines) < MIN_LIST_LINES and not _ends_sentence(lines[-1][0]):
            continue  # two commands look like prose that was wrapped once
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
    """Where the words of a line begin that stand behind several blanks, as those of a table do."""
    return {gap.end() for gap in _COLUMN_GAP.finditer(line)}


def _blocks(text: str) -> Iterator[list[tuple[str, int]]]:
    """Yield the runs of lines that are not blank, each line with the place where the next one begins."""
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
    if width < MIN_COLUMN:  # too narrow to tell by the width: prose ends as a sentence does
        return not _ends_sentence(lines[-1])
    wrapped = [_is_wrapped(line, next_line, width) for line, next_line in pairwise(lines)]
    return sum(wrapped) < WRAPPED * len(wrapped)


def _ends_sentence(line: str) -> bool:
    return line.rstrip(" \t\r\"'”’»)]").endswith((".", "!", "?", "…", ":"))


def _is_wrapped(line: str, next_line: str, width: int) -> bool:
    """Whether the first word of the next line would not have fitted into ``width`` characters."""
    return len(line.rstrip()) + 1 + len(next_line.split(maxsplit=1)[0]) > width


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
