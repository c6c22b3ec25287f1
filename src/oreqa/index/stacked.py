"""The vectors of several segments, as one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oreqa.arrays import Floats, Rows
from oreqa.core import Unit
from oreqa.index.codes import Codes, inner_products
from oreqa.index.segments import Segment


class StackedCodes:
    """The codes of the live passages or sentences of several segments, as one array: ``[vectors]``."""

    def __init__(self, segments: Sequence[Segment], unit: Unit) -> None:
        self._parts = [(segment.vectors[unit], segment.words[unit]) for segment in segments]
        self._starts = np.cumsum([0, *(len(part) for _, part in self._parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def take(self, rows: Rows) -> Codes:
        """Return the codes in ``rows``, which must ascend."""
        (first, _), *_ = self._parts
        taken, bounds = np.empty(len(rows), first.dtype), np.searchsorted(rows, self._starts).tolist()
        for (codes, part), start, begin, end in zip(self._parts, self._starts, bounds, bounds[1:], strict=False):
            if begin < end:
                codes.take(part.rows(rows[begin:end] - start), out=taken[begin:end], mode="clip")  # buffered in other modes
        return taken

    def inner_products(self, questions: Floats) -> Floats:
        """Return the inner product of every question and every vector: ``[questions, vectors]``."""
        products = [(inner_products(questions, codes), part) for codes, part in self._parts]
        counting = [part_products[:, part.live] if len(part.dead) else part_products for part_products, part in products]
        return np.concatenate([np.zeros((len(questions), 0), np.float32), *counting], axis=1)
