"""The local engine: the segments in a generation's folder, mapped into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, Ids, Ints, Rows
from oreqa.core import UNITS
from oreqa.index.bm25 import BM25_PARAMETERS, Bm25
from oreqa.index.codes import Codes, inner_products
from oreqa.index.engines.engine import Scorable
from oreqa.index.nearest import NearestPassages
from oreqa.index.segments import Segment
from oreqa.index.stacked import StackedCodes

T = TypeVar("T", bound=np.generic)


class LocalEngine:
    """The engine of segments, in which the ``compounds`` of a word count as the word. ``doubt`` is that of ``Scorable``."""

    def __init__(
        self, segments: Sequence[Segment], compounds: Mapping[int, Sequence[int]], doubt: Callable[[], None]
    ) -> None:
        starts = np.cumsum([0, *map(len, segments)])
        owners = [segment.owners() + start for segment, start in zip(segments, starts, strict=False)]
        ids = {unit: _together([segment.ids(unit) for segment in segments], np.int64) for unit in UNITS}
        self.counts = {unit: len(ids[unit]) for unit in UNITS}
        units = [unit for unit in UNITS if self.counts[unit]]
        self._vectors = {unit: StackedCodes(segments, unit) for unit in units}
        self.words = {
            unit: Bm25([segment.words[unit] for segment in segments], *BM25_PARAMETERS[unit], compounds) for unit in units
        }
        self._nearest = NearestPassages(segments, doubt)
        sentence_owners = _together(owners, np.int32)
        self._every = Scorable(ids["passage"], ids["sentence"], sentence_owners, self._vectors, self.words, doubt)

    def every(self) -> Scorable:
        """Return what the protocol says."""
        return self._every

    def sample(self, count: int) -> Scorable:
        """Return what the protocol says."""
        passages = self.counts["passage"]
        return self._part(np.arange(0, passages, max(1, -(-passages // count))))

    def passages_with(self, number: int, most: int) -> list[int]:
        """Return what the protocol says: the first such passages."""
        return [int(number) for number in self._every.passage_ids[self.words["passage"].first_with(number, most)]]

    def candidates(
        self, vectors: Floats | None, words: Sequence[Ints] | None, count: int, allowed: Ids | None
    ) -> Iterator[Scorable]:
        """Yield what the protocol says."""
        flags = None if allowed is None else np.isin(self._every.passage_ids, allowed)
        near = [] if vectors is None else list(self._nearest.best(vectors, count, flags))
        for number in range(len(words if vectors is None else vectors)):  # type: ignore[arg-type]
            best = [near[number]] if near else []
            if words is not None:
                best.append(self.words["passage"].best(words[number], count, flags))
            yield self._part(np.unique(np.concatenate(best)))

    def _part(self, passages: Rows) -> Scorable:
        """Return the passages in these rows, rising."""
        every = self._every
        starts, ends = every.sentence_starts[passages], every.sentence_starts[passages + 1]
        owners = np.repeat(np.arange(len(passages), dtype=np.int32), ends - starts)
        sentences = np.arange(len(owners)) + np.repeat(ends - np.cumsum(ends - starts), ends - starts)
        rows = {"passage": passages, "sentence": sentences}
        vectors = {unit: _SomeVectors(stored, rows[unit]) for unit, stored in self._vectors.items()}
        words = {unit: _SomeWords(words_of_unit, rows[unit]) for unit, words_of_unit in self.words.items()}
        ids = every.passage_ids[passages], every.sentence_ids[sentences]
        return Scorable(*ids, owners, vectors, words, every.doubt, every)


class _SomeVectors:
    """Some rows of stored vectors."""

    def __init__(self, stored: StackedCodes, rows: Rows) -> None:
        self._stored, self._rows = stored, rows

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, rows: Rows) -> Codes:
        return self._stored.take(self._rows[rows])

    def inner_products(self, questions: Floats) -> Floats:
        return inner_products(questions, self._stored.take(self._rows))


class _SomeWords:
    """The words of some rows, rising."""

    def __init__(self, words: Bm25, rows: Rows) -> None:
        self._words, self._rows = words, rows

    def scores(self, numbers: Ints) -> Floats:
        return self._words.scores_of(numbers, self._rows)


def _together(arrays: Sequence[NDArray[T]], kind: type[T]) -> NDArray[T]:
    """Concatenate arrays; a single one is not copied."""
    return np.asarray(arrays[0], kind) if len(arrays) == 1 else np.concatenate([np.zeros(0, kind), *arrays]).astype(kind)
