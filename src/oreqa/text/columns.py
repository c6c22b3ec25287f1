"""Which column of a table a question names, and which values of a row it mentions."""

from __future__ import annotations

import re

from oreqa.text.stop_words import STOP_WORDS, WORD

_PART = re.compile(r"\d+|[^\W\d_]+")
_NEW_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NUMBER_OF_NAME = re.compile(r"^\d+-(?=[^\W\d])")
_POSSESSIVE = re.compile(r"['’]s\b")

MIN_STEM = 4
"""The fewest letters of a word that may lose the "s" of its plural."""

MIN_ABBREVIATION = 3
"""The fewest letters of a part of a column's name that may begin a longer word of the question."""


def column_words(name: str) -> list[str]:
    """Return the words and numbers of a column's name.

    Examples:
        >>> column_words("lifeExp"), column_words("Fuel.tank_capacity"), column_words("GDP 2007")
        (['life', 'Exp'], ['Fuel', 'tank', 'capacity'], ['GDP', '2007'])
    """
    return [word for part in _PART.findall(name) for word in _NEW_CASE.split(part)]


def names_column(question: str, name: str) -> bool:
    """Return whether a question has all words and numbers of a column's name; some may be cut off if one is whole.

    A single word may be two: poptotal is named by "total population".

    Examples:
        >>> names_column("What is Utah's murder rate?", "murder"), names_column("How many live in Chad?", "pop")
        (True, False)
        >>> names_column("What was the life expectancy in Chad?", "lifeExp"), names_column("Who is it?", "I")
        (True, False)
    """
    asked, words = _words(question), [_stem(word) for word in column_words(name)]
    if not _tells(words):
        return False
    cuts = range(MIN_ABBREVIATION, len(words[0]) - MIN_ABBREVIATION + 1) if len(words) == 1 else ()
    parts = [words, *([words[0][:cut], words[0][cut:]] for cut in cuts)]
    return set(map(_stem, WORD.findall(name))) <= asked or any(_are_named(each, asked) for each in parts)


def mentions_value(question: str, value: str) -> bool:
    """Return whether a question has all words and numbers of a value, but for a number before its name: 35-Loyola.

    Examples:
        >>> mentions_value("Who won in Loyola in 1997?", "1997"), mentions_value("How many kg has it?", "5 kg")
        (True, False)
    """
    words = [_stem(word) for word in WORD.findall(_NUMBER_OF_NAME.sub("", value))]
    return _tells(words) and set(words) <= _words(question)


def _tells(words: list[str]) -> bool:
    """Return whether there are several words, or a number or a word that is longer than a letter and no stop word."""
    return len(words) > 1 or any(word.isdigit() or (len(word) > 1 and word not in STOP_WORDS) for word in words)


def _are_named(words: list[str], asked: set[str]) -> bool:
    """Return whether all words are asked for, one of them whole."""
    return not asked.isdisjoint(words) and all(word in asked or _is_cut(word, asked) for word in words)


def _is_cut(word: str, asked: set[str]) -> bool:
    return len(word) >= MIN_ABBREVIATION and word.isalpha() and any(longer.startswith(word) for longer in asked)


def _words(question: str) -> set[str]:
    return {_stem(word) for word in WORD.findall(_POSSESSIVE.sub("", question))}


def _stem(word: str) -> str:
    return word.lower().removesuffix("s") if len(word) > MIN_STEM else word.lower()
