"""Extends answers to whole words; ``read.csv2``, ``/etc/fstab`` and ``10%`` are words that a tokenizer splits.

In prose a hyphen separates words, because the parts of "12-year-old", "Anglo-Saxon" and "1985-1990" can be answers. In
identifiers, options, host names and dates it does not: ``--no-edit``, ``all-MiniLM-L6-v2``, ``my-host.org``, ``UTF-8``,
2018-08-21.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

LONGEST_WORD = 200
"""Longest word, in characters. Longer strings are data, and an answer may be a part of them."""

# Letters, digits, underscores and accents, but no ideographs: they are written without spaces between words.
_RUN = "(?:[^\\W\u2e80-\u2fdf\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[\u0300-\u036f])+"
_JOINT = r"(?:\.(?!(?<=\d\.)[A-Z])|[@&\\-]|\+\+?|:(?::|//|\\)?|/[.~]?|(?<=\d),(?=\d{3}(?!\d)))"
_FRONT = r"(?:--?|(?:\.\.?|~)?/\.?|[.@$€£¥#])"
_BACK = r"(?:\+\+?(?!\w)|#(?!\w)|(?<=\d)[%‰€£¥]|(?<=\d)°[CF]?)"
_CHAIN = re.compile(f"(?:(?<![^\\s(\\[{{\"'“‘`<,;=|]){_FRONT})?{_RUN}(?:{_JOINT}{_RUN})*{_BACK}?")

# Hyphens join the parts of options, of file and host names, of names with digits after letters, of UTF-8 and the like,
# and of dates.
_MACHINE = re.compile(r"^-|[_/@\\]|[a-z]\.[a-z0-9]|(?<![^\W\d_])[A-Za-z]+\d|(?<!\w)[A-Z]+-\d|^\d+(?:-\d+){2,}$")

# Slashes join what begins like a path, contains dots, underscores, digits after letters or several slashes, or looks like
# AC/DC; they separate "yes/no".
_PATH = re.compile(r"^[~./]|[._@\\]|[A-Za-z]\d|/.*/|^\d+/\d+$|\b[A-Z]+/[A-Z]+\b")

_PAIRS = {"(": ")", "[": "]", "{": "}", "“": "”", "‘": "’", "«": "»"}
_CLOSERS = {closer: opener for opener, closer in _PAIRS.items()}
_QUOTES = "\"`'"


def long_words(text: str, ends: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Return the words that contain punctuation, in order, as end-exclusive character ranges, in linear time.

    They are split at ``ends``, the places in order where fields end, and their parts are then words.
    """
    words: list[tuple[int, int]] = []
    for match in _CHAIN.finditer(text):
        chain, begin = match.group(), match.start()
        if chain.isalnum():
            continue
        for part in _parts(chain):
            if len(part) <= LONGEST_WORD and not part.isalnum():
                cuts = ends[bisect_right(ends, begin) : bisect_left(ends, begin + len(part))]
                words += pairwise([begin, *cuts, begin + len(part)])
            begin += len(part) + 1
    return words


def _parts(chain: str) -> list[str]:
    """Split a chain at slashes and hyphens, unless they are part of a path or an identifier."""
    halves = chain.split("/") if "/" in chain and not _PATH.search(chain) else [chain]
    return [part for half in halves for part in ([half] if "-" not in half or _MACHINE.search(half) else half.split("-"))]


def whole_words(text: str, start: int, end: int, words: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the range ``start:end`` of ``text``, extended to include the whole of each word that it cuts.

    ``words`` is ``long_words(text)``. Unpaired brackets and quotation marks are removed from both ends.
    """
    first = bisect_right(words, start, key=lambda word: word[1])
    last = bisect_left(words, end, key=lambda word: word[0]) - 1
    if first <= last:
        start, end = min(start, words[first][0]), max(end, words[last][1])
    return _balanced(text, start, end)


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """Remove unpaired brackets and quotation marks from both ends; include one right after the end that closes a pair."""
    unpaired = _unpaired(text, start, end)
    first, last = start, end
    while first < last and (first in unpaired or text[first].isspace()):
        first += 1
    while last > first and (last - 1 in unpaired or text[last - 1].isspace()):
        last -= 1
    inside = max((place for place in unpaired if first < place < last), default=None)
    if inside is not None and last == end < len(text) and text[end] == _PAIRS.get(text[inside], text[inside]):
        last += 1
    return (first, last) if first < last else (start, end)


def _unpaired(text: str, start: int, end: int) -> set[int]:
    """Return the positions of brackets and quotation marks in the range that have no partner in it."""
    opened: list[int] = []
    unopened = []
    for place in range(start, end):
        mark = text[place]
        if mark in _PAIRS:
            opened.append(place)
        elif mark in _CLOSERS or (mark in _QUOTES and not _apostrophe(text, place)):
            if opened and text[opened[-1]] == _CLOSERS.get(mark, mark):
                opened.pop()
            elif mark in _QUOTES:
                opened.append(place)
            else:
                unopened.append(place)
    return {*unopened, *opened}


def _apostrophe(text: str, place: int) -> bool:
    """Return whether a mark is an apostrophe: inside a word or before a shortened year, as in ``don't`` and ``'90s``."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    return text[place] == "'" and (after.isdigit() or (before.isalnum() and after.isalnum()))
