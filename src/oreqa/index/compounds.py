"""Compounds: a word that two words of the index are written together in counts as these two words, too.

A word is split where the geometric mean of the numbers of passages that hold its parts is the greatest, if that is greater
than the number of those that hold the word itself (Koehn & Knight 2003). Words are stems throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Ints
from oreqa.index.lexical import Texts, Vocabulary, words

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


def vocabulary_parts(vocabulary: Vocabulary, passages: Texts, language: str) -> Ints:
    """The numbers of the two words that each word of the passages is made of, ``[vocabulary, 2]``; -1 for other words."""
    terms, lengths = passages
    held = np.unique(np.repeat(np.arange(len(lengths)), lengths) * len(vocabulary) + terms) % max(1, len(vocabulary))
    numbers, counts = dict(vocabulary.items()), np.bincount(held, minlength=len(vocabulary)).tolist()
    passages_with = {word: counts[number] for word, number in numbers.items() if counts[number]}
    parts = np.full((len(vocabulary), 2), -1, np.int32)
    for word in passages_with:
        if split := split_compound(word, passages_with, language):
            parts[numbers[word]] = [numbers[part] for part in split]
    return parts


def with_parts(texts: Texts, parts: Ints) -> Texts:
    """Texts in which each compound is followed by its parts."""
    terms, lengths = texts
    is_split = parts[terms, 0] >= 0
    sizes = np.where(is_split, 3, 1)
    starts = np.cumsum(sizes) - sizes
    out = np.empty(int(sizes.sum()), np.int32)
    out[starts] = terms
    for place in (0, 1):
        out[starts[is_split] + 1 + place] = parts[terms[is_split], place]
    owners = np.repeat(np.arange(len(lengths)), lengths)
    longer: NDArray[np.int64] = np.bincount(owners, weights=sizes, minlength=len(lengths)).astype(np.int64)
    return out, longer


def forms_to_count(stems: Iterable[str], language: str) -> set[str]:
    """All words whose numbers of passages ``split_compound`` may ask for."""
    asked = list(stems)
    parts = {part for stem in asked for pair in possible_parts(stem) for part in pair}
    return {*asked, *(form for part in parts for form in _forms(part, language))}
