"""The engine protocol: an engine finds candidate passages for a question, and holds what scores them and their sentences."""

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
"""The most inner products computed at once."""

QUANTISED = 0.05
"""How far the mean squared norm of normalised vectors may be from 1 if they are stored in few bits."""

NORM_ROOM = {True: (0.9, 1.1), False: (0.1, 10.0)}
"""Allowed norms relative to the usual one: of normalised vectors, possibly stored in few bits, and of others."""


class Vectors(Protocol):
    """Stored vectors of some texts."""

    def __len__(self) -> int: ...

    def take(self, rows: Rows) -> Codes:
        """Return the codes in some rows, rising."""

    def inner_products(self, questions: Floats) -> Floats:
        """Return the inner product of every question and every vector: ``[questions, vectors]``."""


class WordScores(Protocol):
    """The words of some texts."""

    def scores(self, numbers: Ints) -> Floats:
        """Return the BM25 of every text for a question, given as word numbers: ``[texts]``."""


class WordCounts(Protocol):
    """How many texts of a whole index contain a word."""

    def texts_with(self, number: int) -> int:
        """Return the number of texts that contain a word."""

    def bound(self, numbers: Ints, unknown: int) -> float:
        """Return the highest BM25 possible for a question with ``unknown`` words that no text contains."""


@dataclass(frozen=True, eq=False)
class Scorable:
    """Passages that can be scored: all of an index, or candidates.

    Row ``i`` of every array is sentence (or passage) ``ids[i]``; ``sentence_rows`` gives the row of each sentence's passage.
    Without passages there are no ``vectors`` and ``words``. ``doubt`` is called if a vector cannot be valid, judged by the
    norms in ``whole``, or else by its own.
    """

    passage_ids: Ids
    sentence_ids: Ids
    sentence_rows: Ints
    vectors: Mapping[Unit, Vectors]
    words: Mapping[Unit, WordScores]
    doubt: Callable[[], None] = field(default=lambda: None, repr=False)
    whole: Scorable | None = field(default=None, repr=False)

    def ids(self, unit: Unit) -> Ids:
        """Return the SQLite ids of all its sentences or passages."""
        return self.sentence_ids if unit == "sentence" else self.passage_ids

    @cached_property
    def sentence_starts(self) -> Rows:
        """The row of each passage's first sentence, and the number of sentences: ``[passages + 1]``."""
        return np.searchsorted(self.sentence_rows, np.arange(len(self.passage_ids) + 1)).astype(np.intp)

    def allowed(self, passage_ids: Ids) -> Flags:
        """Return which of the sentences are in these passages."""
        flags: Flags = np.isin(self.passage_ids, passage_ids)[self.sentence_rows]
        return flags

    def all_vectors(self, unit: Unit) -> Floats:
        """Return the stored vector of every sentence or passage, ``[units, dim]``."""
        if unit not in self.vectors:
            return np.zeros((0, 0), np.float32)
        return vectors_of(self.vectors[unit].take(np.arange(len(self.vectors[unit]))))

    def norm_limits(self, unit: Unit) -> tuple[float, float]:
        """Return the range of norms in undamaged files."""
        return (self.whole or self)._norm_limits[unit]

    @cached_property
    def _norm_limits(self) -> dict[Unit, tuple[float, float]]:
        """Derived from the median of a few norms, which one damaged vector does not move."""
        limits: dict[Unit, tuple[float, float]] = {}
        for unit, stored in self.vectors.items():
            usual = float(np.median(_norms(vectors_of(stored.take(np.arange(min(64, len(stored))))))))
            lowest, highest = NORM_ROOM[abs(usual - 1) < QUANTISED]
            limits[unit] = lowest * usual, highest * usual
        return limits

    def check_vectors(self, rows: Rows) -> None:
        """Call ``doubt`` if the norm of a vector of the sentences in these rows, or of their passages, is out of range."""
        if not len(rows):
            return
        unit_rows: dict[Unit, Rows] = {"sentence": rows, "passage": np.unique(self.sentence_rows[rows])}
        for unit, stored in self.vectors.items():
            norms = _norms(vectors_of(stored.take(unit_rows[unit])))
            lowest, highest = self.norm_limits(unit)
            if not bool(np.all((norms >= lowest) & (norms <= highest))):
                self.doubt()


def _norms(vectors: Floats) -> Floats:
    """Return the norms of vectors; that of a damaged one may be infinite or NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms: Floats = np.linalg.norm(vectors, axis=1)
    return norms


class Engine(Protocol):
    """Holds the passages of one state of an index, for reading.

    ``counts`` are the numbers of its passages and sentences, ``words`` those of texts with a word, for each unit.
    """

    @property
    def counts(self) -> Mapping[Unit, int]: ...

    @property
    def words(self) -> Mapping[Unit, WordCounts]: ...

    def every(self) -> Scorable:
        """Return all passages, in the documents' order; from a server they are fetched."""

    def candidates(
        self, vectors: Floats | None, words: Sequence[Ints] | None, count: int, allowed: Ids | None
    ) -> Iterator[Scorable]:
        """Yield, for each question, the ``count`` best passages by vector and the ``count`` best by BM25.

        Questions are given as vectors and as word numbers; None omits one of the two searches. With ``allowed``, only these
        passages are searched.
        """

    def sample(self, count: int) -> Scorable:
        """Return about ``count`` passages, evenly spread."""

    def passages_with(self, number: int, most: int) -> list[int]:
        """Return the ids of passages that contain a word, ``most`` at most."""
