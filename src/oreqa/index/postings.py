"""Postings: which texts contain a word, and how often; for texts in parts, some of them deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Ints, Rows, check_whole, mapped_array
from oreqa.index.lexical import Texts

_SIZES = 4
"""Numbers in the header of a postings file: the counts of words, postings and texts, and a zero."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The ``words`` of all texts, rising, and the texts that contain each, ``rows[starts[i] : starts[i + 1]]``, rising.

    ``counts`` says how often, and ``lengths`` how many words each text has.
    """

    words: Ints
    starts: NDArray[np.int64]
    rows: Ints
    counts: Ints
    lengths: Ints

    def of(self, number: int) -> tuple[Ints, Ints]:
        """Return the rows of the texts that contain a word, and how often."""
        place = int(self.words.searchsorted(np.int32(number)))
        if place == len(self.words) or self.words[place] != number:
            return self.rows[:0], self.counts[:0]
        begin, end = self.starts[place], self.starts[place + 1]
        return self.rows[begin:end], self.counts[begin:end]


def postings_of(texts: Texts) -> Postings:
    """Return the postings of numbered words of concatenated texts."""
    terms, lengths = texts
    keys = terms.astype(np.int64) * len(lengths) + np.repeat(np.arange(len(lengths)), lengths)
    keys, counts = np.unique(keys, return_counts=True)
    return _grouped(keys, counts, lengths)


def _grouped(keys: NDArray[np.int64], counts: NDArray[np.integer], lengths: NDArray[np.integer]) -> Postings:
    """Return postings from their rising keys: the word's number times the number of texts, plus the text's row."""
    posting_words, rows = np.divmod(keys, max(len(lengths), 1))
    starts = np.flatnonzero(np.diff(posting_words, prepend=-1))
    words, starts = posting_words[starts].astype(np.int32), np.append(starts, len(keys)).astype(np.int64)
    return Postings(words, starts, rows.astype(np.int32), counts.astype(np.int32), lengths.astype(np.int32))


def write_postings(postings: Postings, path: Path) -> None:
    """Write postings into one .npy file. Raises OSError if the disk is full."""
    sizes = [len(postings.words), len(postings.rows), len(postings.lengths), 0]
    arrays = (postings.words, postings.rows, postings.counts, postings.lengths)
    wide = np.concatenate([sizes, postings.starts]).astype("<i8").view("<i4")
    np.save(path, np.concatenate([wide, *arrays]).astype("<i4"))
    check_whole(path)


def mapped_postings(path: Path, count: int) -> Postings:
    """Map the postings of ``count`` texts in a file into memory. Raises ValueError if their number differs."""
    every: Ints = mapped_array(path)
    words, postings, texts, _ = every[: 2 * _SIZES].view("<i8").tolist()
    sizes = [2 * _SIZES, 2 * (words + 1), words, postings, postings, texts]
    if texts != count or min(sizes) < 0 or sum(sizes) != len(every):
        raise ValueError(f"{path} does not hold the words of {count} texts")
    _, starts, *arrays = np.split(every, np.cumsum(sizes)[:-1])
    return Postings(arrays[0], starts.view("<i8"), *arrays[1:])


@dataclass(frozen=True, slots=True)
class LivePostings:
    """Postings of which the ``dead`` rows, rising, are deleted; ``live`` are the others."""

    postings: Postings
    dead: Rows
    live: Rows

    @classmethod
    def of(cls, postings: Postings, dead: Rows | None = None) -> LivePostings:
        """Wrap postings without the ``dead`` rows."""
        dead = np.zeros(0, np.intp) if dead is None else dead
        return cls(postings, dead, np.delete(np.arange(len(postings.lengths)), dead) if len(dead) else dead)

    def rows(self, places: Rows) -> Rows:
        """Return the rows of live texts by their positions among the live ones."""
        return self.live[places] if len(self.dead) else places

    def __len__(self) -> int:
        return len(self.postings.lengths) - len(self.dead)


def joined(parts: Sequence[LivePostings]) -> Postings:
    """Concatenate the postings of the live texts of several parts."""
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
    """Return the postings with the ``old`` word numbers, rising and complete, replaced by the ``new`` ones."""
    words = new[np.searchsorted(old, postings.words)]
    order = np.argsort(words)
    sizes = np.diff(postings.starts)[order]
    starts = np.cumsum([0, *sizes])
    places = np.arange(starts[-1]) + np.repeat(postings.starts[:-1][order] - starts[:-1], sizes)
    return Postings(words[order], starts, postings.rows[places], postings.counts[places], postings.lengths)


def live_words(part: LivePostings) -> tuple[Ints, Ints]:
    """Return the words in a part's live texts, rising, and how many texts contain each."""
    postings = part.postings
    counts = np.diff(postings.starts).astype(np.int32)
    if not len(part.dead):
        return postings.words, counts
    is_dead = np.zeros(len(postings.lengths), bool)
    is_dead[part.dead] = True
    words = np.searchsorted(postings.starts, np.flatnonzero(is_dead[postings.rows]), side="right") - 1
    counts -= np.bincount(words, minlength=len(counts)).astype(np.int32)
    is_live = counts > 0
    return postings.words[is_live], counts[is_live]
