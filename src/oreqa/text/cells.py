"""Which cell of a table's row answers a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from oreqa.core import Span
from oreqa.text.rows import labelled_lines, row_cells

_ASKS = re.compile(r"(?:^|,)\s*(?:which|what)(?:['’]s\b|\b(?:\s+(?:is|are|was|were)\b)?)(?:\s+the\b)?", re.IGNORECASE)
_ASKS_READ = 8
"""How many places of a question may ask for a column; people's questions have one or two."""

_WORDS_READ = 12
"""Words after such a place that are compared with a column's name."""

_UNIT = re.compile(r"\([^()]*\)\s*$")

_PERIOD_LIST = """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december"""
_PERIODS = _PERIOD_LIST.split()

_WORD_LIST = """about after along also been before between both could does down during each every from have here into just
made make many more most much need only other over said same should some such than that their them then there these they
this those through under until upon used very want were what when where which while whose will with would your"""

_STOP_WORDS = frozenset(_WORD_LIST.split())


@dataclass(frozen=True, slots=True)
class AskedCells:
    """What a question says of the cells of a row: its ``words``, and what follows each "which" or "what is the"."""

    words: frozenset[str]
    columns: Sequence[Sequence[str]]


def asked_cells(question: str) -> AskedCells:
    """Read a question once, for all rows that may answer it."""
    matches = list(_ASKS.finditer(question))[:_ASKS_READ]
    return AskedCells(
        frozenset(_words(question)), [_words(question[match.end() : match.end() + 200])[:_WORDS_READ] for match in matches]
    )


def answering_cell(span: Span, text: str, asked: AskedCells) -> Span:
    """The cell that a span begins in, if it begins in the row of a table: of a column's name, its value.

    A question that says which column it asks for, as "which capital" or "what is the capital", is answered by that column's
    cell. A cell that the question names tells which row it asks about, not the answer: then it is the cell of the one column
    that the question names, if there is one. Lines of a record, as ``Type: boolean`` and ``Default: yes``, are like cells to
    a question that says which one it asks for.
    """
    cells = row_cells(text, span.start)
    cell = next((value for (begin, _), value in cells if begin <= span.start < value[1]), None)
    if cell is None:
        return _labelled(span, text, asked)
    others = [
        (_words(_UNIT.sub("", text[slice(*name)])), value)
        for name, value in cells
        if not _is_named(text[slice(*value)], asked.words)
    ]
    lengths = [_asked_length(name, asked.columns) for name, _ in others]
    wanted = [value for (_, value), length in zip(others, lengths, strict=True) if length and length == max(lengths)]
    if not wanted and _is_named(text[slice(*cell)], asked.words):
        wanted = [value for name, value in others if _has_words(asked.words, name)]
    start, end = wanted[0] if len(wanted) == 1 else cell
    return replace(span, text=text[start:end], start=start, end=end)


def _labelled(span: Span, text: str, asked: AskedCells) -> Span:
    """The value of the line that a question asks for, as "what is the default", if a span stands among such lines."""
    lines = labelled_lines(text, span.start) if asked.columns else []
    wanted = [value for label, value in lines if _asked_length(_words(text[slice(*label)]), asked.columns)]
    if len(wanted) != 1:
        return span
    start, end = wanted[0]
    return replace(span, text=text[start:end], start=start, end=end)


def _is_named(value: str, asked: frozenset[str]) -> bool:
    """Whether a question of these words names a cell: by a number, or by a word of four letters or more."""
    return any(word in asked and (word.isdigit() or len(word) > 3) and word not in _STOP_WORDS for word in _words(value))


def _asked_length(column: Sequence[str], asked: Sequence[Sequence[str]]) -> int:
    """How many words a column's name has, if one of the places of a question asks for it; else 0.

    "What is the capital's population" and "the capital city's" do not ask for the capital.
    """
    length = len(column)
    asks = any(words[:length] == column and "s" not in words[length : length + 2] for words in asked)
    return length if asks else 0


def _has_words(asked: frozenset[str], column: Sequence[str]) -> bool:
    """Whether a question of words names a column: by all words of its name, or by a day or month that they abbreviate."""
    return bool(column) and all(word in asked or not asked.isdisjoint(_periods(word)) for word in column)


def _periods(word: str) -> list[str]:
    return [period for period in _PERIODS if len(word) > 2 and period.startswith(word)]


def _words(text: str) -> list[str]:
    """The words of a text without their case, and without a plural's s."""
    return [word.removesuffix("s") if len(word) > 4 else word for word in re.findall(r"[^\W_]+", text.casefold())]
