"""Finds lists, code, tables and definitions in running text, as left by the file readers, from its sentences.

Items begin with a mark on a new line and continue to the next mark or a blank line; code and rows are separate lines; a
term is a short line above its definition. The sentence before a structure introduces it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oreqa.answer import BlockKind
from oreqa.text.rows import CELL_GAP, row_cells
from oreqa.text.sentences import is_prose

MAX_TERM, SHORT_TERM = 80, 40
"""The longest term, in characters, and the longest on a line of its own within a sentence: a wrapped line is longer."""

_MARK = re.compile(r"(?:[-*+•‣◦–]|\(?(?P<number>\d{1,3})[.)]|\(?[a-z][.)])[ \t]+\S")
_COMMAND = re.compile(r"[$#%>]\s?\S|\w+> ")
_HAS_TERM = re.compile(rf"[^\n.!?:;,]{{1,{SHORT_TERM}}}\n\s*[A-Z]")
_CODE = re.compile(r"[{}<>|=;\\_/]|(?<![\w-])-{1,2}\w|\w\(|\w::|`")
_MAX_CODE = 0.04
_MIN_WORDS = 3


@dataclass(frozen=True, slots=True)
class TextLine:
    """A sentence, item, row or line of code; ``before`` is the white space or mark before it."""

    text: str
    before: str

    @property
    def begins_line(self) -> bool:
        """Return whether it is the first on its line."""
        return "\n" in self.before

    @property
    def begins_paragraph(self) -> bool:
        """Return whether a blank line precedes it."""
        return self.before.count("\n") > 1

    @property
    def number(self) -> int | None:
        """Return the number of a numbered item."""
        match = _MARK.match(self.text) if self.begins_line else None
        return int(match["number"]) if match and match["number"] else None

    @property
    def is_item(self) -> bool:
        """Return whether a list mark precedes it."""
        return self.begins_line and bool(_MARK.match(self.text))

    @property
    def is_row(self) -> bool:
        """Return whether it is a row of cells."""
        return (CELL_GAP in self.text and not _COMMAND.match(self.text)) or bool(row_cells(self.text, 0))

    @property
    def is_code(self) -> bool:
        """Return whether it looks like a line of code or a command."""
        if not self.begins_line or self.is_item or self.is_sentence or row_cells(self.text, 0):
            return False
        return bool(_COMMAND.match(self.text)) or len(_CODE.findall(self.text)) > _MAX_CODE * len(self.text)

    @property
    def is_sentence(self) -> bool:
        """Return whether it ends like a sentence of several words, or is prose."""
        return (self.text.endswith((".", "!", "?", ":")) and self.text.count(" ") >= _MIN_WORDS) or is_prose(self.text)

    @property
    def has_term(self) -> bool:
        """Return whether it begins a paragraph with a short line that is its term."""
        return self.begins_paragraph and bool(_HAS_TERM.match(self.text))

    @property
    def introduces(self) -> bool:
        """Return whether it ends like an introduction of a list or code."""
        return self.text.endswith(":")


@dataclass(frozen=True, slots=True)
class Structure:
    """A list, code, table or definition: ``lines[start:end]``.

    ``parts`` are its items, lines or rows, as ranges of lines, in order. Lines before the first part introduce it: a
    lead-in, a header, a term. ``ordered`` says that its items are numbered.
    """

    kind: BlockKind
    start: int
    end: int
    parts: tuple[tuple[int, int], ...]
    ordered: bool = False


def find_structures(lines: Sequence[TextLine]) -> list[Structure]:
    """Return the structures of a text, in order. Only definitions may contain others; no others overlap.

    Definitions introduced by a sentence with a colon are the items of a list.
    """
    structures: list[Structure] = []
    taken = terms = 0
    for place, line in enumerate(lines):
        if _is_term(lines, place):
            structures.append(_definition(lines, place))
            terms = structures[-1].parts[0][0]
        if place < taken:
            continue
        if line.is_item:
            structures.append(_list(lines, place, taken))
        elif _is_table(lines, place):
            structures.append(_table(lines, place))
        elif line.is_code and place >= terms:
            structures.append(_code(lines, place, taken))
        else:
            continue
        taken = structures[-1].end
    return [*structures, *_lists_of_definitions(lines, structures)]


def _lists_of_definitions(lines: Sequence[TextLine], structures: Sequence[Structure]) -> list[Structure]:
    """Return the lists whose items are consecutive definitions."""
    definitions = [structure for structure in structures if structure.kind == "definition"]
    ends = {structure.start: structure.end for structure in definitions}
    ends |= {place: _paragraph_end(lines, place) for place, line in enumerate(lines) if place not in ends and line.has_term}
    lists = []
    for first in ends:
        if first and lines[first - 1].introduces:
            parts = [(first, ends[first])]
            while parts[-1][1] in ends:
                parts.append((parts[-1][1], ends[parts[-1][1]]))
            if len(parts) > 1:
                lists.append(Structure("list", first - 1, parts[-1][1], tuple(parts)))
    return lists


def _list(lines: Sequence[TextLine], first: int, free: int) -> Structure:
    begins, end = [first], first + 1
    while end < len(lines):
        if lines[end].is_item:
            begins.append(end)
        elif lines[end].begins_paragraph and not _item_goes_on(lines, end, lines[begins[-1]].number):
            break
        end += 1
    ends = [*begins[1:], end]
    numbered = any(lines[begin].number for begin in begins)
    return Structure("list", _lead_in(lines, first, free), end, tuple(zip(begins, ends, strict=True)), numbered)


def _item_goes_on(lines: Sequence[TextLine], place: int, number: int | None) -> bool:
    """Return whether a new paragraph belongs to the previous item: it is indented, or followed by the next number."""
    if lines[place].before.rpartition("\n")[2].startswith("  "):
        return not lines[place].is_code or any(line.is_item for line in lines[place : place + 6])
    return number is not None and any(line.number == number + 1 for line in lines[place : place + 6])


def _lead_in(lines: Sequence[TextLine], first: int, free: int) -> int:
    """Return where the introduction of a structure at ``first`` begins; ``first`` if there is none after ``free``."""
    before = first - 1
    if before < free or not (lines[before].introduces or not lines[first].begins_paragraph):
        return first
    return before


def _is_table(lines: Sequence[TextLine], place: int) -> bool:
    """Return whether rows begin here: two, or one that names its columns. A single line may be commands with a pipe."""
    if not lines[place].is_row:
        return False
    is_single = place + 1 == len(lines) or not lines[place + 1].is_row
    return not is_single or bool(row_cells(lines[place].text, 0))


def _table(lines: Sequence[TextLine], first: int) -> Structure:
    end = first + next((n for n, line in enumerate(lines[first:]) if not line.is_row), len(lines) - first)
    named = row_cells(lines[first].text, 0) or end == first + 1
    rows = range(first, end) if named else range(first + 1, end)
    return Structure("table", first, end, tuple((row, row + 1) for row in rows))


def _code(lines: Sequence[TextLine], first: int, free: int) -> Structure:
    end = first + next((n for n, line in enumerate(lines[first:]) if not line.is_code), len(lines) - first)
    return Structure("code", _lead_in(lines, first, free), end, tuple((line, line + 1) for line in range(first, end)))


def _is_term(lines: Sequence[TextLine], place: int) -> bool:
    """Return whether a paragraph begins with short lines that are not sentences, and continues with sentences."""
    terms_end = place + _terms(lines, place)
    return (
        lines[place].begins_paragraph and place < terms_end < _paragraph_end(lines, place) and lines[terms_end].is_sentence
    )


def _terms(lines: Sequence[TextLine], place: int) -> int:
    """Return how many lines of a paragraph are terms."""
    number = 0
    for line, following in zip(lines[place:], lines[place + 1 :], strict=False):
        if len(line.text) > MAX_TERM or line.text.endswith((".", "!", ":", ";", ",")) or not following.begins_line:
            break
        number += 1
        if following.begins_paragraph:
            break
    return number


def _definition(lines: Sequence[TextLine], place: int) -> Structure:
    first, end = place + _terms(lines, place), _paragraph_end(lines, place)
    return Structure("definition", place, end, tuple((line, line + 1) for line in range(first, end)))


def _paragraph_end(lines: Sequence[TextLine], place: int) -> int:
    return next((n for n in range(place + 1, len(lines)) if lines[n].begins_paragraph), len(lines))
