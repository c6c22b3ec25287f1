"""Which column of a table a question names, and which values of a row it mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from oreqa.text.stop_words import WORD

_LETTERS = re.compile(r"[^\W\d_]+")
_NEW_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

ABBREVIATED = 3
"""The fewest letters of a word in a column's name that may begin a longer word of the question."""


def column_words(name: str) -> list[str]:
    """Return the words of a column's name.

    Examples:
        >>> column_words("lifeExp"), column_words("Fuel.tank_capacity"), column_words("GDP 2007")
        (['life', 'Exp'], ['Fuel', 'tank', 'capacity'], ['GDP'])
    """
    return [word for letters in _LETTERS.findall(name) for word in _NEW_CASE.split(letters)]


def names_column(question: str, name: str) -> bool:
    """Return whether a question has all words of a column's name, or words that begin with them.

    Examples:
        >>> names_column("What is Utah's murder rate?", "murder"), names_column("How many live in Chad?", "pop")
        (True, False)
        >>> names_column("What was the life expectancy in Chad?", "lifeExp")
        True
    """
    question_stems, name_stems = _stems(question), _stems(name)
    words = [_stem(word) for word in column_words(name)]
    if not words:
        return bool(name_stems) and name_stems <= question_stems
    return name_stems <= question_stems or all(
        word in question_stems or _abbreviates(word, question_stems) for word in words
    )


def _abbreviates(word: str, question_stems: Iterable[str]) -> bool:
    """Return whether a word of at least ``ABBREVIATED`` letters begins one of the question's stems."""
    return len(word) >= ABBREVIATED and any(stem.startswith(word) for stem in question_stems)


def mentions_value(question: str, value: str) -> bool:
    """Return whether a question has all words of a value, or all its digits if it has no words.

    Examples:
        >>> mentions_value("Who won in Loyola?", "35-Loyola"), mentions_value("Who won in 1997?", "1997")
        (True, True)
        >>> mentions_value("Who won in Loyola?", "Joly")
        False
    """
    words = _LETTERS.findall(value) or WORD.findall(value)
    return bool(words) and {_stem(word) for word in words} <= _stems(question)


def _stems(text: str) -> set[str]:
    return {_stem(word) for word in WORD.findall(text)}


def _stem(word: str) -> str:
    return word.lower().removesuffix("s")
