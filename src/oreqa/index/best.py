"""Selects the best scores: of sentences, or of the passages that contain them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, Rows


def best_sentences(total: Floats, k: int) -> Rows:
    """Return the rows of the ``k`` highest scores, best first; ties keep their order, -inf is left out."""
    if k < len(total):
        limit = np.partition(total, len(total) - k)[len(total) - k]
        places = np.flatnonzero((total >= limit) & (total > -np.inf))
    else:
        places = np.flatnonzero(total > -np.inf)
    return places[np.argsort(-total[places], kind="stable")][:k]


def best_passages(total: Floats, owner: NDArray[np.integer], k: int) -> list[int]:
    """Return the rows of the best sentences of the ``k`` best passages, best first."""
    if not len(total):
        return []
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    ends = np.r_[starts[1:], len(owner)]
    passages = best_sentences(np.maximum.reduceat(total, starts), k)
    return [int(starts[p] + np.argmax(total[starts[p] : ends[p]])) for p in passages]
