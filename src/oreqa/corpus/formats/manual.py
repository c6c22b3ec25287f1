"""The headings and terms of manuals in plain text, by capitals, underlines, numbers and indentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from oreqa.core import Section
from oreqa.corpus import limits
from oreqa.corpus.builder import join_headings
from oreqa.text.names import is_name

_CAPITALS = re.compile(r"(?=(?:.*[A-Z]){3})[A-Z][A-Z0-9 ,/&()'.:+_-]{2,59}")
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4}|[A-Z](?:\.\d{1,3}){1,4})\.?[ \t]{1,4}([A-Z].{1,70})")
_UNDERLINES = "*=-.~^"
_UNDERLINE = re.compile(rf"([{re.escape(_UNDERLINES)}])\1{{2,}}")
_SUBHEADING = re.compile(r"[A-Z][\w'/-]*(?: [\w'()/-]+){0,6}")
_QUOTED = re.compile(r"['‘`].{1,70}['’](?:$|[ =])| -- \w[\w ]*: ")

_MIN_HEADINGS = 2
"""The fewest headings of a manual."""

_MAX_TERM = 78
_DEEPER = 4
"""How much further an explanation must be indented than its term."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a text: its offsets, its indentation, and its content."""

    start: int
    end: int
    indentation: int
    text: str


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of a section: the lines from ``start`` to ``end``; a term is also text, up to the offset ``until``."""

    level: int
    text: str
    start: int
    end: int
    until: int | None = None


def manual_sections(text: str) -> tuple[Section, ...]:
    """Return the sections of a manual, none if the text does not look like one.

    A term with several explanatory paragraphs is a section, so that each of its passages names the term.
    """
    lines = list(_lines(text))
    headings = list(_headings(lines))
    if len(headings) < _MIN_HEADINGS or len(headings) > limits.SECTIONS // 4:
        return ()
    most = limits.SECTIONS // 4 - len(headings)  # each may begin sections before, in and after it
    terms = list(islice(_terms(lines, {head.start for head in headings}), most + 1))
    heads = sorted([*headings, *(terms if len(terms) <= most else ())], key=lambda head: head.start)
    return tuple(_sections(text, heads))


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        stripped = line.strip()
        expanded = line.expandtabs()
        yield _Line(start, start + len(line), len(expanded) - len(expanded.lstrip()), stripped)
        start += len(line) + 1


def _headings(lines: Sequence[_Line]) -> Iterator[_Head]:
    """Yield the lines at the margin that are headings: above an underline, in capitals, or numbered above indented text."""
    capitals = -1  # the last line in capitals
    for number, line in enumerate(lines):
        if not line.text or (number and lines[number - 1].text and number - 1 != capitals):
            continue
        below = lines[number + 1] if number + 1 < len(lines) else line
        following = next((other for other in lines[number + 1 : number + 4] if other.text), None)
        if _is_underlined(line, below):
            yield _Head(2 + _UNDERLINES.index(below.text[0]), line.text, line.start, below.end)
        elif number + 2 < len(lines) and _are_underlined(line, below, lines[number + 2]):
            under = lines[number + 2]
            yield _Head(2 + _UNDERLINES.index(under.text[0]), f"{line.text} {below.text}", line.start, under.end)
        elif line.indentation == 0 and following is not None and following.indentation > 1:
            if _CAPITALS.fullmatch(line.text):
                capitals = number
                yield _Head(1, line.text, line.start, line.end)
            elif not below.text and (match := _NUMBERED.fullmatch(line.text)) and line.text[-1] not in ".,;:":
                yield _Head(1 + match[1].count("."), line.text, line.start, line.end)
        elif capitals >= 0 and 2 <= line.indentation <= 4 and below.indentation > line.indentation and below.text:
            if not _SUBHEADING.fullmatch(line.text):
                continue
            yield _Head(2, line.text, line.start, line.end)


def _is_underlined(line: _Line, below: _Line) -> bool:
    same = line.indentation == below.indentation == 0 and abs(len(line.text) - len(below.text)) <= 2
    return same and bool(_UNDERLINE.fullmatch(below.text)) and any(map(str.isalpha, line.text))


def _are_underlined(first: _Line, second: _Line, below: _Line) -> bool:
    """Return whether a heading has two lines, the second one indented and the longer one underlined."""
    if first.indentation or not second.indentation or not second.text:
        return False
    longer = max(first, second, key=lambda line: line.indentation + len(line.text))
    return _is_underlined(_Line(0, 0, 0, " " * longer.indentation + longer.text), below)


def _terms(lines: Sequence[_Line], headings: set[int]) -> Iterator[_Head]:
    """Yield the indented lines that name what the more deeply indented paragraphs after them explain."""
    for number, line in enumerate(lines[:-1]):
        below = lines[number + 1]
        if not _is_term(line) or line.start in headings or not below.text or below.indentation < line.indentation + _DEEPER:
            continue
        if number and lines[number - 1].text and lines[number - 1].indentation > line.indentation:
            continue
        paragraphs, until = 0, number + 1
        for until in range(number + 1, len(lines)):
            if not lines[until].text:
                continue
            if lines[until].indentation < line.indentation + _DEEPER:
                break
            paragraphs += not lines[until - 1].text
        else:
            until = len(lines)
        if paragraphs:
            end = lines[until - 1].end
            first = number
            while first and _is_term(lines[first - 1]) and lines[first - 1].indentation == line.indentation:
                first -= 1
            name = ", ".join(other.text.strip("'‘’`") for other in lines[first : number + 1])
            yield _Head(20 + line.indentation, name, lines[first].start, lines[first].start, end)


def _is_term(line: _Line) -> bool:
    if not line.text or len(line.text) > _MAX_TERM:
        return False
    if line.indentation < 2:
        return bool(_QUOTED.match(line.text if line.indentation == 0 else f" {line.text}"))
    return line.text.endswith("=") or is_name(line.text) or bool(_QUOTED.match(line.text))


def _sections(text: str, heads: Sequence[_Head]) -> Iterator[Section]:
    path: list[_Head] = []
    start = 0
    for head in [*heads, None]:
        while path and path[-1].until is not None and (head is None or path[-1].until <= head.start):
            last = path[-1]
            yield from _section(text, start, last.until or start, path)
            path.pop()
            start = last.until or start
        end = len(text) if head is None else head.start
        last_heading = path[-1] if path and path[-1].until is None and path[-1].end == start else None
        if text[start:end].strip():
            yield from _section(text, start, end, path)
        elif last_heading and (head is None or head.level <= last_heading.level):
            yield from _section(text, last_heading.start, last_heading.end, path[:-1])  # it has no text under it
        if head is not None:
            path = [other for other in path if other.level < head.level] + [head]
            start = head.end


def _section(text: str, start: int, end: int, path: Sequence[_Head]) -> Iterator[Section]:
    """Yield the text from ``start`` to ``end`` as a section, if there is any."""
    if text[start:end].strip():
        yield Section(start, end, join_headings([(head.level, head.text) for head in path]))
