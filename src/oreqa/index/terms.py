"""The words of a draft: their numbers, and which are compounds of others."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from oreqa.arrays import Ints
from oreqa.index.compounds import COMPOUNDING, vocabulary_parts
from oreqa.index.postings import LivePostings, live_words
from oreqa.index.schema import is_shared
from oreqa.index.store import read_setting, transaction


class Terms:
    """The numbers of words in a draft's table of terms, to which new words are added."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._ids: dict[str, int] = {}

    def number(self, words: Sequence[str]) -> Ints:
        """Return the numbers of words."""
        ids = self._ids
        for word in dict.fromkeys(words):
            if word not in ids:
                row = self._database.execute("SELECT id FROM terms WHERE term = ?", (word,)).fetchone()
                if row is None:
                    row = self._database.execute("INSERT INTO main.terms(term) VALUES (?) RETURNING id", (word,)).fetchone()
                ids[word] = row[0]
        return np.array([ids[word] for word in words], np.int32)


def drop_unused_terms(database: sqlite3.Connection, used: Iterable[Ints]) -> None:
    """Remove the words that are not ``used``, unless the documents are shared with other generations."""
    if is_shared(database):
        return
    stored = np.array(database.execute("SELECT id FROM terms").fetchall(), np.int32).reshape(-1)
    stale = np.setdiff1d(stored, np.concatenate([stored[:0], *used]))
    with transaction(database):
        database.executemany("DELETE FROM terms WHERE id = ?", ((number,) for number in stale.tolist()))


def write_compounds(database: sqlite3.Connection, passages: Sequence[LivePostings]) -> None:
    """Record which words are compounds of which, if the language's compounds are split."""
    if (language := read_setting(database, "language")) in COMPOUNDING:
        passages_with: Counter[int] = Counter()
        for part in passages:
            words, counts = live_words(part)
            passages_with.update(dict(zip(words.tolist(), counts.tolist(), strict=True)))
        terms = database.execute("SELECT id, term FROM terms").fetchall()
        numbers = {term: number for number, term in terms if passages_with[number]}
        parts = vocabulary_parts({term: passages_with[number] for term, number in numbers.items()}, language)
        rows = [(numbers[word], numbers[part]) for word, pair in parts.items() for part in pair]
        with transaction(database):
            database.execute("DELETE FROM compounds")
            database.executemany("INSERT INTO compounds VALUES (?, ?)", rows)
