"""BM25 (Robertson & Zaragoza 2009, Lucene's variant) of texts, from their postings.

The statistics of the whole collection (the number of texts with a word, of all texts and of their words) are summed over its
parts for each question, so a collection in several parts gives exactly the scores of the same collection in one part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oreqa.arrays import Flags, Floats, Ints, Rows
from oreqa.core import Unit
from oreqa.index.best import best_sentences
from oreqa.index.postings import LivePostings

BM25_PARAMETERS: Mapping[Unit, tuple[float, float]] = {"sentence": (0.6, 0.2), "passage": (0.9, 0.4)}
"""k1 and b. In sentences, repeating a word adds little and length hardly matters; passages include their title and heading.
Both pairs were tuned: docs/results/fusion.md."""


def _near(rows: Ints, wanted: Rows | Ints) -> Rows:
    """Return, for each ``wanted`` row, its index in the ascending ``rows`` (at least one), if it is there."""
    at = rows.searchsorted(wanted.astype(rows.dtype, copy=False))  # otherwise all rows would be converted to its type
    at[at == len(rows)] = 0
    return at


_COMMON = 50
"""A word is common if more than one in this many texts holds it."""

_LOOKED_UP = 4_096
"""The most cached postings, one for each word and part."""

_ROUNDING = 1e-4
"""The relative difference allowed between sums of the same numbers in another order, with a margin."""


def _highest(scores: Floats, count: int, before: float) -> float:
    """Return the lowest of the ``count`` highest scores; if there are fewer, ``before``, its value at lower scores."""
    candidates = scores[scores >= before] if before else scores[scores > 0]
    place = len(candidates) - count
    return float(np.partition(candidates, place)[place]) if place >= 0 else before


@dataclass(frozen=True, slots=True)
class _SomeTexts:
    """Some texts: their lengths and, for each part with any of them, its index, the index of its first text among these
    texts, and their ascending rows in it."""

    lengths: Ints
    parts: Sequence[tuple[int, int, Ints]]


@dataclass(frozen=True, slots=True)
class CollectionWords:
    """A whole collection: its number of texts, their mean length, its ascending words, and how many texts hold each."""

    texts: int
    mean: float
    numbers: Ints
    counts: Ints

    def texts_with(self, number: int) -> int:
        """Return the number of texts that hold a word."""
        place = int(np.searchsorted(self.numbers, number))
        return int(self.counts[place]) if place < len(self.numbers) and self.numbers[place] == number else 0


class Bm25:
    """BM25 of texts in several parts; a text is identified by its place among the live texts of all parts.

    With a ``collection``, the parts are only some of its texts, and its statistics apply; otherwise they are the collection.

    ``compounds`` maps the number of a word to those of the compounds that contain it. A text with such a compound also holds
    the word, as one more word.
    """

    def __init__(
        self,
        parts: Sequence[LivePostings],
        k1: float,
        b: float,
        compounds: Mapping[int, Sequence[int]] | None = None,
        collection: CollectionWords | None = None,
    ):
        self._parts, self._k1, self._b, self._compounds = parts, k1, b, compounds or {}
        self._starts = np.cumsum([0, *map(len, parts)]).tolist()
        self._texts_with: dict[int, int] = {}
        self._looked_up: dict[tuple[int, int], tuple[Ints, Ints]] = {}
        self._collection = collection
        if collection is not None:
            self._mean = collection.mean
        self._texts = collection.texts if collection is not None else len(self)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def texts_with(self, number: int) -> int:
        """Return the number of texts that hold a word. Each question asks for it several times, so it is cached."""
        if (counted := self._texts_with.get(number)) is not None:
            return counted
        if self._collection is not None:
            return self._collection.texts_with(number)
        parts = [(self._rows_with(place, number)[0], part.dead) for place, part in enumerate(self._parts)]
        texts = sum(len(rows) - int(np.count_nonzero(rows[_near(rows, dead)] == dead)) for rows, dead in parts if len(rows))
        return self._texts_with.setdefault(number, texts)

    def first_with(self, number: int, most: int) -> list[int]:
        """Return the places of the first texts that hold a word, ``most`` at most."""
        places: list[int] = []
        for place, (part, start) in enumerate(zip(self._parts, self._starts, strict=False)):
            rows = np.setdiff1d(self._rows_with(place, number)[0], part.dead)[: most - len(places)]
            places += (start + rows - np.searchsorted(part.dead, rows)).tolist()
        return places

    def bound(self, numbers: Ints, unknown: int) -> float:
        """Return an upper bound of BM25 for a question: the sum of its words' IDF.

        Each of the ``unknown`` words, which no text holds, has the highest possible IDF.
        """
        return sum(self._idf(self.texts_with(number)) for number in numbers.tolist()) + unknown * self._idf(0)

    def scores(self, numbers: Ints) -> Floats:
        """Return BM25 of every text for one question, given by the numbers of its words: ``[texts]``."""
        scores = np.zeros(len(self), np.float32)
        weights = self._weights(numbers)
        for place, part in enumerate(self._parts):
            part_scores = np.zeros(len(part.postings.lengths), np.float32)
            for number, idf in weights:
                rows, counts = self._rows_with(place, number)
                part_scores[rows] += self._weighted(idf, counts, self._lengths[place][rows])
            scores[self._starts[place] : self._starts[place + 1]] = part_scores[part.live] if len(part.dead) else part_scores
        return scores

    def scores_of(self, numbers: Ints, places: Rows) -> Floats:
        """Return BM25 of the texts in these ascending places: ``[places]``."""
        texts, scores = self._some(places), np.zeros(len(places), np.float32)
        for number, idf in self._weights(numbers):
            self._add_to_some(scores, texts, number, idf)
        return scores

    def best(self, numbers: Ints, count: int, allowed: Flags | None = None) -> Rows:
        """Return the places of the ``count`` best texts that hold a word of a question and are ``allowed``, best first.

        Rare words are scored first. Once the remaining words cannot by themselves lift a text among the best, they are
        looked up only in texts that can still be among the best (MaxScore, Turtle & Flood 1995), fewer after each word.
        """
        scores, threshold = np.zeros(len(self), np.float32), 0.0
        times = Counter(self._weights(numbers))
        weights = sorted(((idf * often, number) for (number, idf), often in times.items()), reverse=True)
        rest, counted = sum(weight for weight, _ in weights), 0
        for weight, number in weights:
            if counted and self.texts_with(number) > len(self) // _COMMON:
                threshold = _highest(scores, count, threshold)
                if rest < threshold:
                    break
            rest, counted = rest - weight, counted + 1
            self._add(scores, number, weight, allowed)
        else:
            rest, threshold = 0.0, _highest(scores, count, threshold)
        places = np.flatnonzero(scores > max(threshold * (1 - _ROUNDING) - rest, 0))
        scores = scores[places]
        for weight, number in weights[counted:]:
            self._add_to_some(scores, self._some(places), number, weight)
            rest, threshold = rest - weight, _highest(scores, count, threshold)
            may_be_best = scores > threshold * (1 - _ROUNDING) - rest
            places, scores = places[may_be_best], scores[may_be_best]
        return places[best_sentences(self.scores_of(numbers, places), count)]

    def _some(self, places: Rows) -> _SomeTexts:
        lengths, parts = np.zeros(len(places), np.int32), []
        bounds = np.searchsorted(places, self._starts).tolist()
        for place, (part, begin, end) in enumerate(zip(self._parts, bounds, bounds[1:], strict=False)):
            if begin < end:
                rows = part.rows(places[begin:end] - self._starts[place]).astype(np.int32)
                lengths[begin:end] = self._lengths[place][rows]
                parts.append((place, begin, rows))
        return _SomeTexts(lengths, parts)

    def _add_to_some(self, scores: Floats, texts: _SomeTexts, number: int, weight: float) -> None:
        """Add a word of this weight to the scores of some texts."""
        matches = []
        for place, begin, wanted in texts.parts:
            rows, counts = self._rows_with(place, number)
            if len(rows):
                at = _near(rows, wanted)
                hits = (rows[at] == wanted).nonzero()[0]
                matches.append((hits + begin, counts[at[hits]]))
        if matches:
            at, counts = (np.concatenate(arrays) for arrays in zip(*matches, strict=True))
            scores[at] += self._weighted(weight, counts, texts.lengths[at])

    def _add(self, scores: Floats, number: int, weight: float, allowed: Flags | None) -> None:
        """Add a word of this weight to the scores of all allowed texts."""
        for place, (part, lengths) in enumerate(zip(self._parts, self._lengths, strict=True)):
            rows, counts = self._rows_with(place, number)
            places = rows + self._starts[place]
            if len(part.dead) and len(rows):
                before = np.searchsorted(part.dead, rows)
                lives = part.dead[np.minimum(before, len(part.dead) - 1)] != rows
                rows, counts, places = rows[lives], counts[lives], (places - before)[lives]
            if allowed is not None:
                rows, counts, places = rows[allowed[places]], counts[allowed[places]], places[allowed[places]]
            scores[places] += self._weighted(weight, counts, lengths[rows])

    def _weights(self, numbers: Ints) -> list[tuple[int, float]]:
        idf = {number: self._idf(self.texts_with(number)) for number in set(numbers.tolist())}
        return [(number, idf[number]) for number in numbers.tolist()]

    def _idf(self, texts_with: int) -> float:
        return float(np.log1p((self._texts - texts_with + 0.5) / (texts_with + 0.5)))

    def _weighted(self, idf: float, counts: Ints, lengths: Ints) -> Floats:
        norm = self._k1 * (1 - self._b + self._b * lengths / self._mean)
        weighted: Floats = (idf * counts / (counts + norm)).astype(np.float32)
        return weighted

    def _rows_with(self, place: int, number: int) -> tuple[Ints, Ints]:
        """Return the rows of a part's texts, deleted ones included, with a word or a compound of it, and how often."""
        if number not in self._compounds:
            return self._word_postings(place, number)
        each = [self._word_postings(place, form) for form in (number, *self._compounds[number])]
        rows, inverse = np.unique(np.concatenate([rows for rows, _ in each]), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate([counts for _, counts in each]), len(rows))
        return rows, counts.astype(np.int32)

    def _word_postings(self, place: int, number: int) -> tuple[Ints, Ints]:
        """Return the rows of a part's texts with a word, and how often; cached, because a question asks several times."""
        if (postings := self._looked_up.get((place, number))) is None:
            if len(self._looked_up) >= _LOOKED_UP:
                self._looked_up.clear()
            postings = self._looked_up[place, number] = self._parts[place].postings.of(number)
        return postings

    @cached_property
    def _lengths(self) -> list[Ints]:
        """The number of words of every text, by part, including those that compounds contain."""
        split = np.unique(np.array([form for forms in self._compounds.values() for form in forms], np.int32))
        lengths = []
        for part in self._parts:
            part_lengths = part.postings.lengths
            if part_lengths.sum(dtype=np.int64) != part.postings.counts.sum(dtype=np.int64):
                raise ValueError("texts do not have as many words as their postings")
            if len(split):
                is_split = np.repeat(np.isin(part.postings.words, split), np.diff(part.postings.starts))
                counts = part.postings.counts[is_split]
                extra = np.bincount(part.postings.rows[is_split], 2 * counts, len(part_lengths))
                part_lengths = (part_lengths + extra).astype(np.int32)
            lengths.append(part_lengths)
        return lengths

    @cached_property
    def _mean(self) -> float:
        """The mean length of the texts."""
        sums = [
            n.sum(dtype=np.int64) - n[p.dead].sum(dtype=np.int64) for n, p in zip(self._lengths, self._parts, strict=True)
        ]
        return max(float(sum(sums)) / max(len(self), 1), 1e-9)
