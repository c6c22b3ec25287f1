"""Finds words of a question that no document contains, and the words of the index that they misspell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import regex

from oreqa.index.lexical import words
from oreqa.index.snapshot import Snapshot
from oreqa.text.languages import foreign_language
from oreqa.text.whole_words import long_words

SHORTEST, LONG = 5, 8
"""The shortest word, in letters, that is corrected, and the shortest with two wrong letters."""

READ_FOR_A_WORD = 10
"""The most passages in which a word is looked for outside of addresses and paths."""

_WORD = re.compile(r"(?<![\w.@/-])[^\W\d_]+(?![\w@/-]|\.\w)")
_LETTERS, _ADDRESS = re.compile(r"[^\W_]+"), re.compile(r"[@/\\]|www\.")


def misspelt(question: str, snapshot: Snapshot, is_word: Callable[[str], bool]) -> dict[str, str]:
    """Return the words of a question that no text of the index contains, each with the word it misspells.

    That word begins with the same letter and differs by one letter, or two in a long word, or has the same letters in
    another order, is no shorter than a word of five letters, and stands outside of addresses and paths; among several the
    nearest is taken, then the most common.
    Words with capitals, short ones, those that ``is_word`` knows, those in a document's path, and those of a question in
    another language than the index's are left alone.
    """
    if snapshot.empty:
        return {}
    language = snapshot.settings.language
    candidates = [word for word in _WORD.findall(question) if len(word) >= SHORTEST and word.islower() and not is_word(word)]
    stems = {word: stem for word in candidates for stem in words(word, language) if not is_word(stem)}
    numbers = snapshot.word_numbers(stems.values())
    respelt = {}
    for word, stem in stems.items():
        if numbers[stem] is not None or snapshot.has_in_path(word):
            continue
        shortest = len(stem) if len(word) == SHORTEST else 1  # else it is more often another name than a letter too many
        if form := _nearest(stem, snapshot, language, shortest):
            respelt[word] = form
    if respelt and foreign_language(question) not in (None, language):
        return {}
    return respelt


def with_words(question: str, respelt: Mapping[str, str]) -> str:
    """Return the question with its misspelt words replaced, as returned by ``misspelt``."""
    return _WORD.sub(lambda match: respelt.get(match.group(), match.group()), question)


def _nearest(stem: str, snapshot: Snapshot, language: str, shortest: int) -> str | None:
    """Return the word whose stem, of ``shortest`` letters or more, is nearest to an absent one; None if none is near."""
    allowed = 2 if len(stem) >= LONG else 1
    pattern = regex.compile(f"(?be)(?:{regex.escape(stem)}){{e<={allowed}}}")
    passages = snapshot.engine.words["passage"]
    near = []
    for number, term in snapshot.similar_terms(stem, allowed):
        wrong = (
            1 if sorted(term) == sorted(stem) else sum(match.fuzzy_counts) if (match := pattern.fullmatch(term)) else None
        )
        if wrong and len(term) >= shortest and (passages_with := passages.texts_with(number)):
            near.append((wrong, -passages_with, number, term))
    written = (_as_written(number, term, snapshot, language) for *_, number, term in sorted(near))
    return next(filter(None, written), None)


def _as_written(number: int, stem: str, snapshot: Snapshot, language: str) -> str | None:
    """Return a word with that stem, as spelled in the first passage that contains it outside of addresses and paths."""
    for passage, _ in snapshot.passages(snapshot.engine.passages_with(number, READ_FOR_A_WORD)).values():
        text = f"{passage.title} {passage.heading} {passage.text}"
        inside = [place for place in long_words(text) if _ADDRESS.search(text, *place)]
        for match in _LETTERS.finditer(text):
            if words(match.group(), language) == [stem] and not any(a <= match.start() < b for a, b in inside):
                return match.group()
    return None
