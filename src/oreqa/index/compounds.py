"""Splits compounds: a word composed of two words of the index also counts as these two words.

A word is split where the geometric mean of the numbers of passages containing its parts is greatest, provided that it
exceeds the number of those containing the word itself (Koehn & Knight 2003). Words are stems throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from oreqa.index.lexical import words

COMPOUNDING = frozenset({"de"})
"""Languages whose compounds are split, by ISO 639-1 code: those with a measured gain."""

_LINKS = ("", "s", "es", "n", "en", "er", "e")
"""Linking elements between the parts."""

_PART, _LONGEST, _PASSAGES = 4, 80, 2
"""The shortest part, the longest compound, in letters, and the fewest passages that contain a part."""


def possible_parts(word: str) -> Iterator[tuple[str, str]]:
    """Yield every way to split a word in two."""
    for place in range(_PART, len(word) - _PART + 1) if len(word) <= _LONGEST and word.isalpha() else ():
        for link in _LINKS:
            first = word[:place].removesuffix(link)
            if len(first) + len(link) == place and len(first) >= _PART:
                yield first, word[place:]


def _forms(part: str, language: str) -> tuple[str, str]:
    """Return a part as written in a compound, and its stem."""
    return part, next(iter(words(part, language)), part)


def split_compound(word: str, passages_with: Mapping[str, int], language: str) -> tuple[str, str] | None:
    """Return the two words of the index that a word is composed of, by the passages with each; None for other words.

    Examples:
        >>> split_compound("paketverwaltung", {"paket": 9, "verwalt": 4, "paketverwaltung": 1}, "de")
        ('paket', 'verwalt')
    """

    @cache
    def form_of(part: str) -> str:
        return next((form for form in _forms(part, language) if passages_with.get(form, 0) >= _PASSAGES), "")

    highest, parts = float(max(passages_with.get(word, 0), 1)), None
    for pair in possible_parts(word):
        if (second := form_of(pair[1])) and (first := form_of(pair[0])):
            mean = math.sqrt(passages_with[first] * passages_with[second])
            if mean > highest:
                highest, parts = mean, (first, second)
    return parts


def vocabulary_parts(passages_with: Mapping[str, int], language: str) -> dict[str, tuple[str, str]]:
    """Return the two parts of each compound, among words with the number of passages containing each."""
    splits = ((word, split_compound(word, passages_with, language)) for word in passages_with)
    return {word: parts for word, parts in splits if parts}


def forms_to_count(stems: Iterable[str], language: str) -> set[str]:
    """Return all words whose passage counts ``split_compound`` may look up."""
    all_stems = list(stems)
    parts = {part for stem in all_stems for pair in possible_parts(stem) for part in pair}
    return {*all_stems, *(form for part in parts for form in _forms(part, language))}
