"""BM25 (Robertson & Zaragoza 2009, Lucene's variant) from postings: which texts hold a word, and how often.

The numbers that depend on the whole collection, those of texts with a word, of all texts and of their words, are summed over
its parts when a question is asked: a collection in parts gives the scores of one in a single part, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, Ints, Rows, check_whole, mapped_array
from oreqa.core import Unit
from oreqa.index.lexical import Texts

BM25_PARAMETERS: Mapping[Unit, tuple[float, float]] = {"sentence": (0.6, 0.2), "passage": (0.9, 0.4)}
"""k1 and b. For sentences repeating a word adds little, and length hardly matters; passages have their title and heading.
Both pairs were tuned: docs/results/fusion.md."""

_SIZES = 4
"""Numbers in front of a file of postings: how many words, postings and texts there are, and a zero."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The ``words`` that some text holds, rising, and the texts that hold each, ``rows[starts[i] : starts[i + 1]]``, rising.

    ``counts`` says how often, and ``lengths`` how many words each text has.
    """

    words: Ints
    starts: NDArray[np.int64]
    rows: Ints
    counts: Ints
    lengths: Ints

    def of(self, number: int) -> tuple[Ints, Ints]:
        """The rows of the texts that hold a word, and how often they do."""
        place = int(np.searchsorted(self.words, number))
        if place == len(self.words) or self.words[place] != number:
            return self.rows[:0], self.counts[:0]
        begin, end = self.starts[place], self.starts[place + 1]
        return self.rows[begin:end], self.counts[begin:end]


def postings_of(texts: Texts) -> Postings:
    """The postings of numbered words of all texts, one after another."""
    terms, lengths = texts
    keys = terms.astype(np.int64) * len(lengths) + np.repeat(np.arange(len(lengths)), lengths)
    keys, counts = np.unique(keys, return_counts=True)
    return _grouped(keys, counts, lengths)


def _grouped(keys: NDArray[np.int64], counts: NDArray[np.integer], lengths: NDArray[np.integer]) -> Postings:
    """Postings from their rising keys: the number of the word times the number of texts, plus the text's row."""
    of_postings, rows = np.divmod(keys, max(len(lengths), 1))
    starts = np.flatnonzero(np.diff(of_postings, prepend=-1))
    words, starts = of_postings[starts].astype(np.int32), np.append(starts, len(keys)).astype(np.int64)
    return Postings(words, starts, rows.astype(np.int32), counts.astype(np.int32), lengths.astype(np.int32))


def write_postings(postings: Postings, path: Path) -> None:
    """Write postings into one .npy file. Raises OSError if the disk is full."""
    sizes = [len(postings.words), len(postings.rows), len(postings.lengths), 0]
    arrays = (postings.words, postings.rows, postings.counts, postings.lengths)
    wide = np.concatenate([sizes, postings.starts]).astype("<i8").view("<i4")
    np.save(path, np.concatenate([wide, *arrays]).astype("<i4"))
    check_whole(path)


def mapped_postings(path: Path, count: int) -> Postings:
    """Postings of ``count`` texts in a file, mapped into memory. Raises ValueError if they are of another number."""
    every: Ints = mapped_array(path)
    words, postings, texts, _ = every[: 2 * _SIZES].view("<i8").tolist()
    sizes = [2 * _SIZES, 2 * (words + 1), words, postings, postings, texts]
    if texts != count or min(sizes) < 0 or sum(sizes) != len(every):
        raise ValueError(f"{path} does not hold the words of {count} texts")
    _, starts, *arrays = np.split(every, np.cumsum(sizes)[:-1])
    return Postings(arrays[0], starts.view("<i8"), *arrays[1:])


@dataclass(frozen=True, slots=True)
class LivePostings:
    """The postings of a part of the texts. Those of the ``dead`` rows, rising, count no longer; ``live`` are the others."""

    postings: Postings
    dead: Rows
    live: Rows

    @classmethod
    def of(cls, postings: Postings, dead: Rows | None = None) -> LivePostings:
        """A part of all texts of the postings but the ``dead`` ones."""
        dead = np.zeros(0, np.intp) if dead is None else dead
        return cls(postings, dead, np.delete(np.arange(len(postings.lengths)), dead) if len(dead) else dead)

    def rows(self, places: Rows) -> Rows:
        """The rows of live texts by their places among these."""
        return self.live[places] if len(self.dead) else places

    def __len__(self) -> int:
        return len(self.postings.lengths) - len(self.dead)


def joined(parts: Sequence[LivePostings]) -> Postings:
    """The postings of the live texts of several parts, one part behind another."""
    size, begin = sum(map(len, parts)), 0
    keys, counts, lengths = [], [], []
    for part in parts:
        old = part.postings
        live = part.rows(np.arange(len(part)))
        places = np.full(len(old.lengths), -1, np.int64)
        places[live] = np.arange(begin, begin + len(part))
        rows = places[old.rows]
        keys.append((np.repeat(old.words, np.diff(old.starts)).astype(np.int64) * size + rows)[rows >= 0])
        counts.append(old.counts[rows >= 0])
        lengths.append(old.lengths[live])
        begin += len(part)
    every = np.concatenate(keys)
    order = np.argsort(every, kind="stable")
    return _grouped(every[order], np.concatenate(counts)[order], np.concatenate(lengths))


def renumbered(postings: Postings, old: Ints, new: Ints) -> Postings:
    """The postings with ``new`` numbers of words in place of the ``old`` ones, which rise and hold all of theirs."""
    words = new[np.searchsorted(old, postings.words)]
    order = np.argsort(words)
    sizes = np.diff(postings.starts)[order]
    starts = np.cumsum([0, *sizes])
    places = np.arange(starts[-1]) + np.repeat(postings.starts[:-1][order] - starts[:-1], sizes)
    return Postings(words[order], starts, postings.rows[places], postings.counts[places], postings.lengths)


def live_words(part: LivePostings) -> tuple[Ints, Ints]:
    """The words that live texts of a part hold, rising, and how many texts hold each."""
    postings = part.postings
    if not len(part.dead):
        return postings.words, np.diff(postings.starts).astype(np.int32)
    lives = np.ones(len(postings.lengths), bool)
    lives[part.dead] = False
    counts = (
        np.add.reduceat(lives[postings.rows].astype(np.int32), postings.starts[:-1]) if len(postings.words) else lives[:0]
    )
    held = counts > 0
    return postings.words[held], counts[held]


def _near(rows: Ints, wanted: Rows) -> Rows:
    """For each of the ``wanted`` where it is among the rising rows, of which there is one at least, if it is there."""
    at = np.searchsorted(rows, wanted)
    at[at == len(rows)] = 0
    return at


class Bm25:
    """BM25 of texts in several parts; a text is known by its place among the live ones of all parts.

    ``compounds`` are, for the number of a word, those of the words that it is a part of: a text that holds one of them holds
    the word, too, as one more word.
    """

    def __init__(
        self, parts: Sequence[LivePostings], k1: float, b: float, compounds: Mapping[int, Sequence[int]] | None = None
    ):
        self._parts, self._k1, self._b, self._compounds = parts, k1, b, compounds or {}
        self._starts = np.cumsum([0, *map(len, parts)]).tolist()
        self._texts_with: dict[int, int] = {}

    def __len__(self) -> int:
        return int(self._starts[-1])

    def texts_with(self, number: int) -> int:
        """The number of texts that hold a word. It is asked for several times by each question."""
        if (counted := self._texts_with.get(number)) is not None:
            return counted
        held = [(self._held(part, number)[0], part.dead) for part in self._parts]
        texts = sum(len(rows) - int(np.count_nonzero(rows[_near(rows, dead)] == dead)) for rows, dead in held if len(rows))
        return self._texts_with.setdefault(number, texts)

    def first_with(self, number: int) -> int:
        """The place of the first text that holds a word."""
        for part, start in zip(self._parts, self._starts, strict=False):
            rows = np.setdiff1d(self._held(part, number)[0], part.dead)
            if len(rows):
                return int(start + rows[0] - np.searchsorted(part.dead, rows[0]))
        raise ValueError(f"no text holds the word {number}")

    def bound(self, numbers: Ints, unknown: int) -> float:
        """The highest BM25 that a question could reach: the sum of its words' IDF.

        ``unknown`` words that no text holds weigh as much as a word can.
        """
        return sum(self._idf(self.texts_with(number)) for number in numbers.tolist()) + unknown * self._idf(0)

    def scores(self, numbers: Ints) -> Floats:
        """BM25 of every text for one question, given by the numbers of its words: ``[texts]``."""
        scores = np.zeros(len(self), np.float32)
        weights = self._weights(numbers)
        for place, part in enumerate(self._parts):
            of_part = np.zeros(len(part.postings.lengths), np.float32)
            for number, idf in weights:
                rows, counts = self._held(part, number)
                of_part[rows] += self._weighted(idf, counts, self._lengths[place][rows])
            scores[self._starts[place] : self._starts[place + 1]] = of_part[part.live] if len(part.dead) else of_part
        return scores

    def scores_of(self, numbers: Ints, places: Rows) -> Floats:
        """BM25 of the texts in these rising places: ``[places]``."""
        scores = np.zeros(len(places), np.float32)
        weights = self._weights(numbers)
        bounds = np.searchsorted(places, self._starts)
        for place, part in enumerate(self._parts):
            begin, end = bounds[place], bounds[place + 1]
            wanted = part.rows(places[begin:end] - self._starts[place])
            for number, idf in weights if len(wanted) else ():
                rows, counts = self._held(part, number)
                if len(rows):
                    at = _near(rows, wanted)
                    held = np.flatnonzero(rows[at] == wanted)
                    lengths = self._lengths[place][wanted[held]]
                    scores[begin + held] += self._weighted(idf, counts[at[held]], lengths)
        return scores

    def _weights(self, numbers: Ints) -> list[tuple[int, float]]:
        idf = {number: self._idf(self.texts_with(number)) for number in set(numbers.tolist())}
        return [(number, idf[number]) for number in numbers.tolist()]

    def _idf(self, texts_with: int) -> float:
        return float(np.log1p((len(self) - texts_with + 0.5) / (texts_with + 0.5)))

    def _weighted(self, idf: float, counts: Ints, lengths: Ints) -> Floats:
        norm = self._k1 * (1 - self._b + self._b * lengths / self._mean)
        weighted: Floats = (idf * counts / (counts + norm)).astype(np.float32)
        return weighted

    def _held(self, part: LivePostings, number: int) -> tuple[Ints, Ints]:
        """The rows of the texts that hold a word, or a compound with it, and how often, dead ones included."""
        if number not in self._compounds:
            return part.postings.of(number)
        each = [part.postings.of(form) for form in (number, *self._compounds[number])]
        rows, inverse = np.unique(np.concatenate([rows for rows, _ in each]), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate([counts for _, counts in each]), len(rows))
        return rows, counts.astype(np.int32)

    @cached_property
    def _lengths(self) -> list[Ints]:
        """The numbers of words of all texts of each part, with the parts of compounds."""
        split = np.unique(np.array([form for forms in self._compounds.values() for form in forms], np.int32))
        lengths = []
        for part in self._parts:
            of_part = part.postings.lengths
            if of_part.sum(dtype=np.int64) != part.postings.counts.sum(dtype=np.int64):
                raise ValueError("texts do not have as many words as their postings")
            if len(split):
                is_split = np.repeat(np.isin(part.postings.words, split), np.diff(part.postings.starts))
                counts = part.postings.counts[is_split]
                extra = np.bincount(part.postings.rows[is_split], 2 * counts, len(of_part))
                of_part = (of_part + extra).astype(np.int32)
            lengths.append(of_part)
        return lengths

    @cached_property
    def _mean(self) -> float:
        """The mean length of the texts."""
        sums = [
            n.sum(dtype=np.int64) - n[p.dead].sum(dtype=np.int64) for n, p in zip(self._lengths, self._parts, strict=True)
        ]
        return max(float(sum(sums)) / max(len(self), 1), 1e-9)
