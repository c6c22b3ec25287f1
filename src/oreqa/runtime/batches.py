"""Inputs of like length together, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

BATCH_TOKENS = 1024
"""Tokens of a batch, padding included: enough to keep the matrix products busy, and small enough for the caches."""

LEAST_TOKENS, LEAST_BATCHES = 128, 8
"""Little work is cut into smaller batches than that, so that all cores have some of it."""


def by_length(lengths: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """The numbers of the inputs of each batch, longest first, in batches of at most BATCH_TOKENS tokens."""
    room = min(BATCH_TOKENS, max(LEAST_TOKENS, sum(lengths) // LEAST_BATCHES))
    order = np.argsort([-length for length in lengths], kind="stable")
    begin = 0
    while begin < len(order):
        chosen = order[begin : begin + max(1, room // max(1, lengths[order[begin]]))]
        begin += len(chosen)
        yield chosen
