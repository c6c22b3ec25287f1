"""Computes what a question asks of a table: how many rows, or which has the highest or lowest value.

Every word of the question must occur in the table, as a column, a value, or a word of its file, title or heading: a
condition that the table cannot check is never ignored.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from oreqa.answer import Operation
from oreqa.index.lexical import words
from oreqa.index.tables import TableRow, WholeTable
from oreqa.text.comparing import FREE, HIGHEST, LOWEST, RESTRICTING, ROW_WORDS, TWO_WORDS, count_at, extremes_at
from oreqa.text.quantities import are_dates, quantities
from oreqa.text.stop_words import STOP_WORDS, WORD

_PARTS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UNIT = re.compile(r"[(\[].*?[)\]]")
_DAY = re.compile(r"\d{4}[-/]\d{2}([-/]\d{2})?")
_MAX_TIES, _MAX_VALUE = 5, 8

LONGEST_VALUE = 80
"""The longest value, in characters, that a question may name."""

MIN_PREFIX = 3
"""The shortest column name that may abbreviate a word, e.g. "pop" for population."""


@dataclass(frozen=True, slots=True)
class Result:
    """What was computed over ``looked_at`` rows: the rows that prove it, the column that answers, and the column used.

    The answering column is empty if the number of rows is the answer. The last column was compared, or its values counted.
    """

    operation: Operation
    rows: tuple[TableRow, ...]
    column: str
    compared: str
    looked_at: int


def computed(question: str, table: WholeTable, relates: Callable[[str], bool]) -> Result | None:
    """Return what a question asks, computed from all rows of a table; None if the table does not account for every word.

    ``relates`` tells whether a word, e.g. "employees", is close to the table's subject.
    """
    return _Question(question, table, relates).result()


def _stems(text: str) -> list[str]:
    return words(text, "en")


class _Question:
    """A question about one table; ``understood`` holds the places of the words that the table accounts for."""

    def __init__(self, question: str, table: WholeTable, relates: Callable[[str], bool]) -> None:
        self.written = WORD.findall(question)
        self.words = [word.lower() for word in self.written]
        self.stems = [(_stems(word) or [word])[0] for word in self.words]
        self.table, self.relates = table, relates
        self.head = set(_stems(" ".join(_PARTS.findall(_CAMEL.sub(" ", table.head)))))
        self.understood: set[int] = set()
        self.columns = {name: _stems(_CAMEL.sub(" ", _UNIT.sub(" ", name))) for name in table.columns}
        self.cells = {name: [row.cell(name) for row in table.rows] for name in table.columns}
        self.numeric = {name for name, cells in self.cells.items() if quantities(cells)}

    def result(self) -> Result | None:
        """Return what the question asks for; None if it is no question about this table."""
        counted, extremes = count_at(self.words), extremes_at(self.words)
        if counted is not None:
            return self._count(counted)
        return self._extreme(extremes[0]) if extremes else None

    def _count(self, begin: int) -> Result | None:
        self.understood |= {begin - 2, begin - 1}
        while self.words[begin : begin + 1] in (["of"], ["the"]):
            begin += 1
        noun = self._noun(begin)
        column = None if noun is None else self._column_at(noun)
        if noun is None or column in self.numeric:
            return None  # a column of numbers answers by itself: how many deaths
        rows = self._filtered()
        counts_rows = self.words[noun] in ROW_WORDS
        if not rows or not (column or counts_rows or any(map(self._is_key, self.table.columns))):
            return None  # without a column whose values are all distinct, one thing may be in several rows
        is_whole = len(rows) == len(self.table.rows)
        if (is_whole and not (column or counts_rows or self._in_head(noun))) or not self._all_known():
            return None
        if column:
            first = {row.cell(column): row for row in reversed(rows) if row.cell(column)}
            rows = list(reversed(first.values()))
        return Result("count", tuple(rows), "", column or "", len(self.table.rows))

    def _extreme(self, at: int) -> Result | None:
        self.understood.add(at)
        value, lowest, named = self._value_column(at)
        if value is None or (self.words[at] in ("latest", "earliest") and not are_dates(self.cells[value])):
            return None
        rows = self._filtered()
        answer = self._answer_column(at, value, named)
        if rows is None or answer is None or len(rows) < 2 or not self._all_known():
            return None
        numbers = quantities([row.cell(value) for row in rows])
        if numbers is None or 2 * sum(number is None for number in numbers) > len(numbers):
            return None
        best = (min if lowest else max)(number for number in numbers if number is not None)
        best_rows = tuple(row for row, number in zip(rows, numbers, strict=True) if number == best)
        if answer == value:
            best_rows = best_rows[:1]
        if len(best_rows) > _MAX_TIES or not all(row.cell(answer) for row in best_rows):
            return None
        return Result("lowest" if lowest else "highest", best_rows, answer, value, len(rows))

    def _value_column(self, at: int) -> tuple[str | None, bool, int | None]:
        """Return the compared column, whether its lowest value is asked for, and where the question names it."""
        pair = TWO_WORDS.get((self.words[at], " ".join(self.words[at + 1 : at + 2])))
        if pair:
            self.understood.add(at + 1)
        lowest = self.words[at] in LOWEST
        highest_of, lowest_of = pair or HIGHEST.get(self.words[at]) or LOWEST[self.words[at]]
        mentions = {name: place for name in self.numeric if (place := self._mention(name)) is not None}
        if mentions:
            name = min(mentions, key=lambda name: (-len(self.columns[name]), mentions[name] < at, abs(mentions[name] - at)))
            self.understood |= set(range(mentions[name], mentions[name] + len(self.columns[name])))
            return name, lowest or bool(_stem_set(lowest_of) & {*self.columns[name]}), mentions[name]
        for names, is_lowest in ((highest_of, False), (lowest_of, True)):
            fitting = [name for name, stems in self.columns.items() if name in self.numeric and _stem_set(names) & {*stems}]
            if len(fitting) == 1:
                return fitting[0], is_lowest, None
        return None, lowest, None

    def _mention(self, column: str) -> int | None:
        """Return where the adjacent words of a column's name, or of what it abbreviates, begin in the question, or None."""
        name = self.columns[column]
        for place in range(len(self.stems) + 1 - len(name) if name else 0):
            mentioned = self.stems[place : place + len(name)]
            if mentioned == name or all(
                a == n or (len(n) >= MIN_PREFIX and word.startswith(n))
                for a, n, word in zip(mentioned, name, self.words[place:], strict=False)
            ):
                return place
        return None

    def _column_at(self, place: int) -> str | None:
        """Return the column whose name ends at a place."""
        fitting = [
            name for name, stems in self.columns.items() if stems and self.stems[place + 1 - len(stems) : place + 1] == stems
        ]
        if len(fitting) != 1:
            return None
        self.understood |= set(range(place + 1 - len(self.columns[fitting[0]]), place + 1))
        return fitting[0]

    def _answer_column(self, at: int, value: str, named: int | None) -> str | None:
        """Return the column that answers: the one asked for, the compared one, or else the one that names a row."""
        dates = [name for name, cells in self.cells.items() if are_dates(cells)]
        if "when" in self.words:
            return value if value in dates else dates[0] if len(dates) == 1 else None
        target = next((n for n in range(at) if n not in self.understood and not self._says_nothing(n)), None)
        if target is not None or "who" in self.words:
            return (target is not None and self._column_at(self._noun(target) or target)) or self._label(value)
        if named is not None and (
            named < at or all(n in self.understood or self._says_nothing(n) for n in range(at, named))
        ):
            return value
        noun = self._noun(at + 1)
        return (noun is not None and self._column_at(noun)) or self._label(value)

    def _says_nothing(self, place: int) -> bool:
        return self.words[place] in FREE

    def _label(self, value: str) -> str | None:
        texts = [name for name in self.table.columns if name not in self.numeric and name != value]
        return next((name for name in texts if self._is_key(name)), texts[0] if texts else None)

    def _is_key(self, name: str) -> bool:
        cells = self.cells[name]
        return all(cells) and len(set(cells)) == len(cells)

    def _noun(self, begin: int) -> int | None:
        """Return the place of the last consecutive word from ``begin`` on that is no stop word or verb; None without any."""
        end = begin
        while end < len(self.words) and not (
            self.words[end] in STOP_WORDS or (self.words[end] in FREE - ROW_WORDS) or end in self.understood
        ):
            end += 1
        return end - 1 if end > begin else None

    def _filtered(self) -> list[TableRow] | None:
        """Return the rows with the values that the question names; None if one fits several columns, or names a row."""
        values = _values(self.cells, self.words, set(self.stems))
        rows = list(self.table.rows)
        for size in range(min(_MAX_VALUE, len(self.words)), 0, -1):
            for begin in range(len(self.words) - size + 1):
                places = set(range(begin, begin + size))
                columns = values.get(tuple(self.stems[begin : begin + size]))
                if (
                    not columns
                    or places & self.understood
                    or all(map(self._in_head, places))
                    or (size == 1 and not self._may_be_value(begin, columns))
                ):
                    continue
                if len(columns) > 1:
                    columns = {name: cells for name, cells in columns.items() if self._mention(name) is not None}
                if len(columns) != 1:
                    return None
                [(name, cells)] = columns.items()
                if len(cells) == 1 and self._is_key(name):
                    return None  # the question is about the subject of a single row
                rows = [row for row in rows if row.cell(name) in cells]
                self.understood |= places
                if (place := self._mention(name)) is not None:
                    self.understood |= set(range(place, place + len(self.columns[name])))
        return rows

    def _may_be_value(self, place: int, columns: Mapping[str, Collection[str]]) -> bool:
        """Return whether a word can be a value: stop words and letters only in the table's spelling, in capitals."""
        word = self.written[place]
        if self.words[place] in STOP_WORDS or len(word) == 1:
            return word.isupper() and place > 0 and any(word in cells for cells in columns.values())
        return self.words[place] not in FREE

    def _in_head(self, place: int) -> bool:
        return self.stems[place] in self.head

    def _all_known(self) -> bool:
        """Return whether the table accounts for every content word."""
        names = {stem for stems in self.columns.values() for stem in stems}
        unknown = [place for place in range(len(self.words)) if place not in self.understood]
        if any(self.words[place] in RESTRICTING for place in unknown):
            return False
        rest = [p for p in unknown if not (self._says_nothing(p) or self._in_head(p) or self.stems[p] in names)]
        return all(self.written[p].islower() and self.relates(self.words[p]) for p in rest if len(self.words[p]) > 1)


def _stem_set(names: Iterable[str]) -> set[str]:
    return {stem for name in names for stem in _stems(name)}


def _values(
    cells: Mapping[str, Sequence[str]], question_words: Sequence[str], question_stems: Set[str]
) -> dict[tuple[str, ...], dict[str, set[str]]]:
    """Return, by the stems of a value that the question may contain, its columns with its spellings in them."""
    values: dict[tuple[str, ...], dict[str, set[str]]] = defaultdict(dict)
    begins = {word[:2] for word in question_words}
    for name, column in cells.items():
        for cell in set(column):
            if len(cell) > LONGEST_VALUE or (cell[:2].isascii() and cell[:2].isalnum() and cell[:2].lower() not in begins):
                continue
            if (stems := _stems(cell)) and question_stems >= set(stems):
                values[tuple(stems)].setdefault(name, set()).add(cell)
            if _DAY.fullmatch(cell) and cell[:4] in question_words:
                values[cell[:4],].setdefault(name, set()).add(cell)
    return values
