"""What an engine is: it finds the passages that may answer a question, and holds what scores them and their sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from oreqa.arrays import Flags, Floats, Ids, Ints, Rows
from oreqa.core import Unit
from oreqa.index.codes import Codes, vectors_of

BLOCK_SCORES = 1 << 24
"""Inner products that are held at once."""

QUANTISED = 0.05
"""How far the mean of the squared norms of normalised vectors that are stored in few bits is from 1, at most."""

NORM_ROOM = {True: (0.9, 1.1), False: (0.1, 10.0)}
"""Norms of sound vectors over the usual one: of normalised vectors, which may be stored in few bits, and of others."""


class Vectors(Protocol):
    """Stored vectors of some texts."""

    def __len__(self) -> int: ...

    def take(self, rows: Rows) -> Codes:
        """The codes in some rows, rising."""

    def inner_products(self, questions: Floats) -> Floats:
        """The inner product of every question and every vector: ``[questions, vectors]``."""


class WordScores(Protocol):
    """The words of some texts."""

    def scores(self, numbers: Ints) -> Floats:
        """BM25 of every text for a question, given by the numbers of its words: ``[texts]``."""


class WordCounts(Protocol):
    """How many texts of a whole index hold a word."""

    def texts_with(self, number: int) -> int:
        """The number of texts that hold a word."""

    def bound(self, numbers: Ints, unknown: int) -> float:
        """The highest BM25 that a question could reach, which has so many ``unknown`` words that no text holds."""


@dataclass(frozen=True, eq=False)
class Scorable:
    """Passages that can be scored: all of an index, or candidates. Row ``i`` of every array is sentence (or passage)
    ``ids[i]``; ``sentence_rows`` gives the row of each sentence's passage.

    Where there are no passages there are no ``vectors`` and ``words``. ``doubt`` is called where a vector cannot be sound,
    as the norms of ``whole`` say, or else its own.
    """

    passage_ids: Ids
    sentence_ids: Ids
    sentence_rows: Ints
    vectors: Mapping[Unit, Vectors]
    words: Mapping[Unit, WordScores]
    doubt: Callable[[], None] = field(default=lambda: None, repr=False)
    whole: Scorable | None = field(default=None, repr=False)

    def ids(self, unit: Unit) -> Ids:
        """SQLite's ids of all its sentences or passages."""
        return self.sentence_ids if unit == "sentence" else self.passage_ids

    @cached_property
    def sentence_starts(self) -> Rows:
        """The row of each passage's first sentence, and the number of sentences: ``[passages + 1]``."""
        return np.searchsorted(self.sentence_rows, np.arange(len(self.passage_ids) + 1)).astype(np.intp)

    def allowed(self, passage_ids: Ids) -> Flags:
        """Which of the sentences stand in these passages."""
        flags: Flags = np.isin(self.passage_ids, passage_ids)[self.sentence_rows]
        return flags

    def all_vectors(self, unit: Unit) -> Floats:
        """The stored vector of every sentence or passage, ``[units, dim]``."""
        if unit not in self.vectors:
            return np.zeros((0, 0), np.float32)
        return vectors_of(self.vectors[unit].take(np.arange(len(self.vectors[unit]))))

    def norm_limits(self, unit: Unit) -> tuple[float, float]:
        """Norms that vectors have in sound files."""
        return (self.whole or self)._norm_limits[unit]

    @cached_property
    def _norm_limits(self) -> dict[Unit, tuple[float, float]]:
        """From the median of a few norms: one damaged vector does not move it."""
        limits: dict[Unit, tuple[float, float]] = {}
        for unit, stored in self.vectors.items():
            usual = float(np.median(_norms(vectors_of(stored.take(np.arange(min(64, len(stored))))))))
            lowest, highest = NORM_ROOM[abs(usual - 1) < QUANTISED]
            limits[unit] = lowest * usual, highest * usual
        return limits

    def check_vectors(self, rows: Rows) -> None:
        """Doubt the files if the norm of a vector of the sentences in these rows, or of their passages, is out of
        limits."""
        if not len(rows):
            return
        of_units: dict[Unit, Rows] = {"sentence": rows, "passage": np.unique(self.sentence_rows[rows])}
        for unit, stored in self.vectors.items():
            norms = _norms(vectors_of(stored.take(of_units[unit])))
            lowest, highest = self.norm_limits(unit)
            if not bool(np.all((norms >= lowest) & (norms <= highest))):
                self.doubt()


def _norms(vectors: Floats) -> Floats:
    """The norms of vectors; that of a damaged one may be infinite, or no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms: Floats = np.linalg.norm(vectors, axis=1)
    return norms


class Engine(Protocol):
    """What holds the passages of one state of an index, for reading.

    ``counts`` are the numbers of its passages and sentences, ``words`` those of texts with a word, of units that there are.
    """

    @property
    def counts(self) -> Mapping[Unit, int]: ...

    @property
    def words(self) -> Mapping[Unit, WordCounts]: ...

    def every(self) -> Scorable:
        """All passages, in the documents' order; of a server they are fetched."""

    def candidates(
        self, vectors: Floats | None, words: Sequence[Ints] | None, count: int, allowed: Ids | None
    ) -> Iterator[Scorable]:
        """For each question the best ``count`` passages by their vectors, given the question's, and the best by BM25, given
        the numbers of its words; None leaves one of the two out. With ``allowed`` they are among these passages."""

    def sample(self, count: int) -> Scorable:
        """About so many passages, evenly spread."""

    def passage_with(self, number: int) -> int:
        """The id of a passage that holds a word."""
