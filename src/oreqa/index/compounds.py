"""Compounds: a word that two words of the index are written together in counts as these two words, too.

A word is split where the geometric mean of the numbers of passages that hold its parts is the greatest, if that is greater
than the number of those that hold the word itself (Koehn & Knight 2003). Words are stems throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from oreqa.index.lexical import words

COMPOUNDING = frozenset({"de"})
"""Languages whose compounds are split, by ISO 639-1 code: those in which the gain was measured."""

_LINKS = ("", "s", "es", "n", "en", "er", "e")
"""What may stand between the parts."""

_PART, _LONGEST, _PASSAGES = 4, 80, 2
"""The fewest letters of a part, the most of a compound, and the fewest passages that hold a part."""


def possible_parts(word: str) -> Iterator[tuple[str, str]]:
    """Yield every way to split a word in two."""
    for place in range(_PART, len(word) - _PART + 1) if len(word) <= _LONGEST and word.isalpha() else ():
        for link in _LINKS:
            first = word[:place].removesuffix(link)
            if len(first) + len(link) == place and len(first) >= _PART:
                yield first, word[place:]


def _forms(part: str, language: str) -> tuple[str, str]:
    """A part as it is written in a compound, and its stem."""
    return part, next(iter(words(part, language)), part)


def split_compound(word: str, passages_with: Mapping[str, int], language: str) -> tuple[str, str] | None:
    """The two words of the index that a word is made of, by the number of passages with each; None for other words.

    Examples:
        >>> split_compound("paketverwaltung", {"paket": 9, "verwalt": 4, "paketverwaltung": 1}, "de")
        ('paket', 'verwalt')
    """

    @cache
    def held(part: str) -> str:
        return next((form for form in _forms(part, language) if passages_with.get(form, 0) >= _PASSAGES), "")

    highest, parts = float(max(passages_with.get(word, 0), 1)), None
    for pair in possible_parts(word):
        if (second := held(pair[1])) and (first := held(pair[0])):
            mean = math.sqrt(passages_with[first] * passages_with[second])
            if mean > highest:
                highest, parts = mean, (first, second)
    return parts


def vocabulary_parts(passages_with: Mapping[str, int], language: str) -> dict[str, tuple[str, str]]:
    """The two words that each compound is made of, of words with the number of passages that hold each."""
    splits = ((word, split_compound(word, passages_with, language)) for word in passages_with)
    return {word: parts for word, parts in splits if parts}


def forms_to_count(stems: Iterable[str], language: str) -> set[str]:
    """All words whose numbers of passages ``split_compound`` may ask for."""
    asked = list(stems)
    parts = {part for stem in asked for pair in possible_parts(stem) for part in pair}
    return {*asked, *(form for part in parts for form in _forms(part, language))}
