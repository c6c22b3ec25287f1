"""Finds the passages with the vectors nearest to a question's; large segments are searched by bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from oreqa.arrays import Flags, Floats, Rows
from oreqa.index.best import best_sentences
from oreqa.index.bits import bits_of, differences, fewest
from oreqa.index.codes import inner_products
from oreqa.index.engines.engine import BLOCK_SCORES
from oreqa.index.segments import Segment
from oreqa.index.stacked import StackedCodes

NEAREST = 8
"""Passages selected by bits for each one wanted, to be compared by their codes."""

_NOT_ALLOWED = np.iinfo(np.uint16).max
"""More bits than a vector has."""


class NearestPassages:
    """Finds the nearest passages in segments; a passage's place is its position among all current ones.

    ``doubt`` is called if bits cannot be valid.
    """

    def __init__(self, segments: Sequence[Segment], doubt: Callable[[], None]) -> None:
        starts = np.cumsum([0, *map(len, segments)])
        places = [np.arange(begin, begin + len(segment)) for segment, begin in zip(segments, starts, strict=False)]
        self._codes, self._doubt = StackedCodes(segments, "passage"), doubt
        self._large = [segment for segment in segments if segment.bits is not None]
        self._large_places = _together(places, [segment.bits is not None for segment in segments])
        self._small = StackedCodes([segment for segment in segments if segment.bits is None], "passage")
        self._small_places = _together(places, [segment.bits is None for segment in segments])

    def best(self, questions: Floats, count: int, allowed: Flags | None) -> Iterator[Rows]:
        """Yield, for each question, the places of up to ``count`` nearest passages that are ``allowed``, best first."""
        size = max(1, BLOCK_SCORES // max(1, len(self._small)))
        for begin in range(0, len(questions), size):
            block = questions[begin : begin + size]
            for question, products in zip(block, self._small.inner_products(block), strict=True):
                places, values = self._small_places, products
                if self._large:
                    near, near_values = self._near(question, NEAREST * count, allowed)
                    places, values = np.concatenate([places, near]), np.concatenate([values, near_values])
                    order = np.argsort(places)
                    places, values = places[order], values[order]
                yield places[_highest(values, None if allowed is None else allowed[places], count)]

    def _near(self, question: Floats, count: int, allowed: Flags | None) -> tuple[Rows, Floats]:
        """Return the places of about ``count`` passages of large segments, selected by bits, and their inner products."""
        parts = [(differences(question, segment.bits), segment.words["passage"]) for segment in self._large]  # type: ignore[arg-type]
        counts = np.concatenate([part_counts[part.live] if len(part.dead) else part_counts for part_counts, part in parts])
        if allowed is not None:
            counts[~allowed[self._large_places]] = _NOT_ALLOWED
        rows = fewest(counts, count)
        rows = rows[counts[rows] < _NOT_ALLOWED]
        places = self._large_places[rows]
        codes = self._codes.take(places)
        if not np.array_equal(differences(question, bits_of(codes)), counts[rows]):
            self._doubt()
        return places, inner_products(question[None], codes)[0]


def _together(places: Sequence[Rows], wanted: Sequence[bool]) -> Rows:
    return np.concatenate(
        [np.zeros(0, np.intp), *(each for each, is_wanted in zip(places, wanted, strict=True) if is_wanted)]
    )


def _highest(values: Floats, flags: Flags | None, count: int) -> Rows:
    """Return the rows of the highest values among those whose flag is set."""
    if np.isnan(values).any():
        raise ValueError("a score is not a number")
    return best_sentences(values if flags is None else np.where(flags, values, -np.inf), count)
