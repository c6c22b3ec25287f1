"""Finds the lines of a PDF's pages that are not text: running heads and feet, tables of contents, indexes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from oreqa.corpus.formats.pdf.lines import Line

RUNNING_HEADS, CONTENTS, INDEX = "running heads", "table of contents", "index"

LineKey = tuple[int, int]
"""A line's page and its number on that page."""

_RowKey = tuple[str, int]
"""A row's text and its height on the page, rounded."""

_AROUND = " -–—[]()|"
"""Characters around page numbers."""
_LONGEST_NUMBER = 30
_DEPTH = 8
"""Most rows at each end of a page that can be running heads."""
_ZONE = 0.2
"""Share of a page's height, at each end, that may contain running heads."""
_REPEATS = 3
"""Pages on which a running head must occur."""
_FEW = 10
"""In files with fewer pages than this, two identical occurrences are enough."""
_NEAR = 2
"""Most pages between two occurrences, because left and right pages can have different heads."""
_LARGER = 1.15
"""Lines larger than the text by this factor must repeat with their numbers: "Example 2" and "Example 3" are headings."""
_ROMAN = re.compile(r"[ivxlc]+", re.I)
_WORD = r"(?:p ?a ?g ?e|pg\.?|p\.|seite|blatt|p[áa]gina|p[áa]g\.|side|sida|strona|strana)"
_OF = r"(?: ?(?:/|\||of|von|de|sur|di|van|av|af|z|ze) ?(?P<last>\d{1,4}))?"
_PAGE_NUMBER = re.compile(rf"(?P<word>{_WORD}[ :|]{{0,3}})?(?P<number>\d{{1,4}}){_OF}(?P<after> ?\| ?{_WORD})?", re.I)
_WITH_NUMBER = re.compile(rf"\b{_WORD}[ :|]{{0,3}}\d{{1,4}}\b", re.I)
"""A page's number in a running head."""
_ENTRY = re.compile(r"(?:^|[\s.…,])(\d{1,4}|[ivxlc]{1,7})[.,;]?$")
_SLACK = 50
"""Page numbers allowed beyond twice the number of pages: a chapter of a book keeps the book's numbers."""
_LISTED = re.compile(r",\s\d{1,4}$")
_WRAPPED = 2
"""Most lines of an entry before the one with its page number."""
_FILLED = 0.5
"""The least width of such a line, as a share of that of the line with the page number."""
_CONTENTS_TITLE = re.compile(r"(?:table of )?contents|inhalt(?:sverzeichnis)?|table des matières|índice|sommaire", re.I)


@dataclass(slots=True)
class _Repeats:
    """Counts what repeats at the tops, or the bottoms, of a document's pages."""

    pages: int
    large: float
    rows: dict[_RowKey, list[int]] = field(default_factory=dict)
    """The pages, in order, that have a row, ignoring its numbers."""
    texts: dict[_RowKey, list[int]] = field(default_factory=dict)
    """The pages, in order, that have a row with exactly this text."""
    shifts: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How often a number at a height differs from the page's index by a shift."""

    def add(self, page: int, rows: Sequence[Sequence[Line]]) -> None:
        for row in rows:
            text = _text(row)
            for height in _heights(row):
                for pages, key in ((self.rows, self.pattern(row)), (self.texts, text)):
                    numbers = pages.setdefault((key, height), [])
                    if not numbers or numbers[-1] != page:
                        numbers.append(page)
        self.shifts.update({shift for row in rows[:2] for shift in _shifts(row)})

    def pattern(self, row: Sequence[Line]) -> str:
        """Return a row's text without its numbers; "" if it is only a number. Large or bold rows keep their numbers."""
        text = _text(row)
        if len(row) == 1 and (row[0].size > self.large or row[0].bold):
            return text
        bare = re.sub(r"[\d\W_]+", " ", text.casefold()).strip()
        return "" if _ROMAN.fullmatch(bare) else bare

    def is_head(self, row: Sequence[Line]) -> bool:
        """Return whether a row is a running head."""
        page, text, pattern = row[0].page, _text(row), self.pattern(row)
        if any(self.shifts[shift] >= max(_REPEATS, self.pages // 5) for shift in _shifts(row)):
            return True
        if is_page_number(text, page, self.pages):
            return True
        bare = text.strip(_AROUND)
        if not pattern and not bare.isdigit() and not _ROMAN.fullmatch(bare):
            return False
        needed = 2 if self.pages < _FEW else _REPEATS
        numbered = needed if _WITH_NUMBER.search(text) else _REPEATS
        return any(
            _is_repeated(page, self.rows[pattern, height], numbered) or _is_repeated(page, self.texts[text, height], needed)
            for height in _heights(row)
        )


def is_page_number(text: str, page: int, pages: int) -> bool:
    """Return whether a line is the number of the page at the index ``page``: "3", "- 3 -", "3/12", "Page 3", "Page 3 of 12".

    With a word such as "Page", the number may differ, as in a part of a longer document.
    """
    match = _PAGE_NUMBER.fullmatch(text.strip(_AROUND)) if len(text) <= _LONGEST_NUMBER else None
    if match is None:
        return False
    named = match["word"] is not None or match["after"] is not None
    return named or (int(match["number"]) == page + 1 and match["last"] in (None, str(pages)))


def find_heads(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> set[LineKey]:
    """Find page numbers, and the lines at the tops and bottoms of pages that repeat at one height, ignoring numbers.

    A page without other lines keeps all but its number. ``heights`` are those of the pages, in points.
    """
    keys: set[LineKey] = set()
    large = _LARGER * body_size(pages)
    for down in (True, False):
        ends = [list(_rows(lines, height, down)) for lines, height in zip(pages, heights, strict=True)]
        repeats = _Repeats(len(pages), large)
        for number, rows in enumerate(ends):
            repeats.add(number, rows)
        for rows in ends:
            heads = takewhile(repeats.is_head, rows)
            keys.update((line.page, line.number) for row in heads for line in row)
    for lines in pages:
        if all((line.page, line.number) in keys for line in lines):
            numbers = [line for line in lines if is_page_number(line.text, line.page, len(pages)) or line.text.isdigit()]
            keys -= {(line.page, line.number) for line in lines if line not in numbers}
    return keys


def _rows(lines: Sequence[Line], height: float, down: bool) -> Iterator[list[Line]]:
    """Yield the rows of a page from its top downwards, or from its bottom upwards if not ``down``."""
    zone = [line for line in lines if (line.base > (1 - _ZONE) * height if down else line.base < _ZONE * height)]
    ordered = sorted(zone, key=lambda line: -line.base if down else line.base)
    row: list[Line] = []
    rows = 0
    for line in ordered:
        if row and abs(line.base - row[0].base) > 2:
            yield row
            rows += 1
            row = []
            if rows == _DEPTH:
                return
        row.append(line)
    if row:
        yield row


def _text(row: Sequence[Line]) -> str:
    return " ".join(line.text for line in row)


def _heights(row: Sequence[Line]) -> tuple[int, int]:
    """Return a row's height rounded on two grids of 4 points, on one of which heights within 2 points are equal."""
    return int(row[0].base // 4), int((row[0].base + 2) // 4) - 100_000


def _shifts(row: Sequence[Line]) -> set[tuple[int, int]]:
    """Return the differences of the numbers at the start and end of a row's lines from the page's index, with the height."""
    words = {word for line in row for word in (line.text.split(" ", 1)[0], line.text.rsplit(" ", 1)[-1])}
    height = round(row[0].base)
    numbers = {int(word) for word in words if word.isascii() and word.isdigit() and len(word) <= 4}
    return {(row[0].page - number, height + d) for number in numbers for d in (-1, 0, 1)}


def _is_repeated(page: int, numbers: Sequence[int], needed: int) -> bool:
    """Return whether there are at least ``needed`` pages, with the one before or after ``page`` near it."""
    at = bisect_left(numbers, page)
    return len(numbers) >= needed and any(
        0 <= i < len(numbers) and abs(numbers[i] - page) <= _NEAR for i in (at - 1, at + 1)
    )


def find_contents(lines: Sequence[Line], pages: int, after: int | None = None) -> tuple[set[LineKey], str]:
    """Find the lines of a table of contents or an index on one page, given without its running heads.

    A table of contents that ended the page before, with the page number ``after``, may go on in few lines. Returns the lines
    and CONTENTS or INDEX, or "". Numbers too large for a file of ``pages`` pages, such as years and prices, are not page
    numbers.
    """
    keys, reason = _find_list(lines, pages, after)
    title = next((at for at, line in enumerate(lines) if _CONTENTS_TITLE.fullmatch(line.text.strip())), 0)
    if title and reason != INDEX and not any(line.leaders for line in lines[:title]):  # above may be the title page
        below = _find_list(lines[title:], pages, None)
        return below if below[1] == CONTENTS else (keys, reason)
    return keys, reason


def last_number(lines: Sequence[Line], keys: set[LineKey]) -> int:
    """Return the last page number, in Arabic digits, of the contents whose lines are ``keys``; 0 without one."""
    ends = (_ENTRY.search(line.text) for line in reversed(lines) if (line.page, line.number) in keys)
    return next((int(match[1]) for match in ends if match and match[1].isdigit()), 0)


def _find_list(lines: Sequence[Line], pages: int, after: int | None) -> tuple[set[LineKey], str]:
    last_page = 2 * pages + _SLACK
    entries = [
        (at, match[1])
        for at, line in enumerate(lines)
        if (match := _ENTRY.search(line.text)) and not (match[1].isdigit() and int(match[1]) > last_page)
    ]
    leaders = sum(lines[at].leaders for at, _ in entries)
    titled = any(_CONTENTS_TITLE.fullmatch(line.text.strip()) for line in lines[:3])
    if len(entries) < 4 or not (leaders >= 3 or (titled and (leaders or 2 * len(entries) > len(lines)))):
        if after is not None and (first := _first_entries(lines, entries, after)):
            return first, CONTENTS
        commas = sum(_LISTED.search(lines[at].text) is not None for at, _ in entries)
        if commas >= 15 and 2 * commas > len(lines) and _alphabetical([lines[at] for at, _ in entries]):
            return _between(lines, entries), INDEX
        return set(), ""
    if _is_sorted(entries):
        return _between(lines, entries), CONTENTS
    if _alphabetical([lines[at] for at, _ in entries]):
        return _between(lines, entries), INDEX
    return set(), ""


def _first_entries(lines: Sequence[Line], entries: Sequence[tuple[int, str]], after: int) -> set[LineKey]:
    """Return the lines of the entries that a page begins with, the last with dot leaders.

    Empty if their page numbers do not rise from ``after`` on.
    """
    end = last = 0
    numbers, leader_numbers = [after], [after]
    for at, number in entries:
        if at - last > _WRAPPED or any(_is_apart(line, lines[at]) for line in lines[last:at]):
            break
        last = at + 1
        numbers.append(int(number) if number.isdigit() else 0)
        if lines[at].leaders:
            end, leader_numbers = last, numbers.copy()
    return {(line.page, line.number) for line in lines[:end]} if leader_numbers == sorted(leader_numbers) else set()


def _is_apart(line: Line, entry: Line) -> bool:
    """Return whether a line above an entry is a heading, rather than the entry's first line, which fills its column."""
    is_short = line.right - line.left < _FILLED * (entry.right - entry.left)
    return is_short or line.bold > entry.bold or line.size > _LARGER * entry.size


def _is_sorted(entries: Sequence[tuple[int, str]]) -> bool:
    """Return whether nearly all of the entries' page numbers do not fall."""
    numbers = [int(number) for _, number in entries if number.isdigit()]
    return _share(a <= b for a, b in pairwise(numbers)) >= 0.9


def _between(lines: Sequence[Line], entries: Sequence[tuple[int, str]]) -> set[LineKey]:
    """Return the entries' lines, and the lines between entries that are close together."""
    keys: set[LineKey] = set()
    last: int | None = None
    if 0 < entries[0][0] <= 2:  # the lines above are its title
        keys.update((line.page, line.number) for line in lines[: entries[0][0]] if len(line.text.split()) <= 3)
    for at, _ in entries:
        first = at if last is None or at - last > 6 else last + 1
        keys.update((line.page, line.number) for line in lines[first : at + 1])
        last = at
    return keys


def _alphabetical(lines: Sequence[Line]) -> bool:
    letters = [letter[0].casefold() for line in lines if (letter := re.search(r"[^\W\d_]", line.text))]
    return len(letters) >= 4 and _share(a <= b for a, b in pairwise(letters)) >= 0.85


def _share(tests: Iterator[bool]) -> float:
    results = list(tests)
    return sum(results) / len(results) if results else 1.0


def body_size(pages: Sequence[Sequence[Line]]) -> float:
    """Return a document's most frequent font size, by characters; 0 without lines."""
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0
