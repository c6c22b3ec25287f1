"""Answers in whole words: what a tokenizer cuts at punctuation, as ``read.csv2``, ``/etc/fstab`` and ``10%``, is one word.

A hyphen does not make one word of prose: "12-year-old", "Anglo-Saxon" and "1985-1990" hold answers of their own. It does in
what is written for machines: ``--no-edit``, ``all-MiniLM-L6-v2``, ``my-host.org``, ``UTF-8``, 2018-08-21.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

LONGEST = 200
"""Characters of a word; what is longer is data, and answers may be cut from it."""

# Letters, digits, underscores and accents, but no ideographs, which stand without blanks between words.
_RUN = "(?:[^\\W\u2e80-\u2fdf\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[\u0300-\u036f])+"
_JOINT = r"(?:\.(?!(?<=\d\.)[A-Z])|[@&\\-]|\+\+?|:(?::|//|\\)?|/[.~]?|(?<=\d),(?=\d{3}(?!\d)))"
_FRONT = r"(?:--?|(?:\.\.?|~)?/\.?|[.@$€£¥#])"
_BACK = r"(?:\+\+?(?!\w)|#(?!\w)|(?<=\d)[%‰€£¥]|(?<=\d)°[CF]?)"
_CHAIN = re.compile(f"(?:(?<![^\\s(\\[{{\"'“‘`<,;=|]){_FRONT})?{_RUN}(?:{_JOINT}{_RUN})*{_BACK}?")

# Hyphens hold a chain together that is an option, has the marks of names of files and hosts or digits after letters, or is
# like UTF-8 or a date.
_MACHINE = re.compile(r"^-|[_/@\\]|[a-z]\.[a-z0-9]|(?<![^\W\d_])[A-Za-z]+\d|(?<!\w)[A-Z]+-\d|^\d+(?:-\d+){2,}$")

# A slash makes one word of what begins like a path, holds dots, underscores or digits behind letters, has several, or is
# like AC/DC; not of "yes/no".
_PATH = re.compile(r"^[~./]|[._@\\]|[A-Za-z]\d|/.*/|^\d+/\d+$|\b[A-Z]+/[A-Z]+\b")

_PAIRS = {"(": ")", "[": "]", "{": "}", "“": "”", "‘": "’", "«": "»"}
_CLOSERS = {closer: opener for opener, closer in _PAIRS.items()}
_QUOTES = "\"`'"


def long_words(text: str) -> list[tuple[int, int]]:
    """Where the words stand that punctuation is part of, in order: ``text[start:end]``. Takes linear time."""
    words = []
    for match in _CHAIN.finditer(text):
        chain, begin = match.group(), match.start()
        if chain.isalnum():
            continue
        for part in _parts(chain):
            if len(part) <= LONGEST and not part.isalnum():
                words.append((begin, begin + len(part)))
            begin += len(part) + 1
    return words


def _parts(chain: str) -> list[str]:
    """A chain whole if it was made for machines, else its words: between slashes, and between hyphens."""
    halves = chain.split("/") if "/" in chain and not _PATH.search(chain) else [chain]
    return [part for half in halves for part in ([half] if "-" not in half or _MACHINE.search(half) else half.split("-"))]


def whole_words(text: str, start: int, end: int, words: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The stretch ``text[start:end]`` with the whole of each of the ``words`` that it cuts: ``long_words(text)``.

    The dot or comma that ends a sentence or clause is left out, and so are brackets and quotation marks at its ends whose
    partners stand outside.
    """
    end = _before_stop(text, start, end)
    first = bisect_right(words, start, key=lambda word: word[1])
    last = bisect_left(words, end, key=lambda word: word[0]) - 1
    if first <= last:
        start, end = min(start, words[first][0]), max(end, words[last][1])
    return _balanced(text, start, end)


def _before_stop(text: str, start: int, end: int) -> int:
    """The end without ``,;:`` and without a full stop; that of an abbreviation belongs to it."""
    stop = end - 1
    if stop <= start or text[stop] not in ".,;:":
        return end
    if text[stop] == ".":
        word = text[start:stop].split()[-1:]
        following = text[end : end + 20].lstrip()
        if not word or "." in word[0] or following[:1].islower():
            return end
    return stop


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without lone brackets and quotation marks at its ends; one that closes right behind it is taken in."""
    lone = _lone(text, start, end)
    first, last = start, end
    while first < last and (first in lone or text[first].isspace()):
        first += 1
    while last > first and (last - 1 in lone or text[last - 1].isspace()):
        last -= 1
    inside = max((place for place in lone if first < place < last), default=None)
    if inside is not None and last == end < len(text) and text[end] == _PAIRS.get(text[inside], text[inside]):
        last += 1
    return (first, last) if first < last else (start, end)


def _lone(text: str, start: int, end: int) -> set[int]:
    """Where brackets and quotation marks without a partner stand in the stretch."""
    opened: list[int] = []
    lone = []
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
                lone.append(place)
    return {*lone, *opened}


def _apostrophe(text: str, place: int) -> bool:
    """Whether a mark stands inside of a word, or before its cut year: ``don't``, ``'90s``."""
    before, behind = text[place - 1 : place], text[place + 1 : place + 2]
    return text[place] == "'" and (behind.isdigit() or (before.isalnum() and behind.isalnum()))
