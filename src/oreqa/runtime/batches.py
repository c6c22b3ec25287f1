"""Inputs of like length together, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

BATCH_TOKENS = 2048
"""Tokens of a batch, padding included: enough to keep the matrix products busy, and small enough for the caches."""


def by_length(lengths: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """The numbers of the inputs of each batch, longest first, in batches of at most BATCH_TOKENS tokens."""
    order = np.argsort([-length for length in lengths], kind="stable")
    begin = 0
    while begin < len(order):
        chosen = order[begin : begin + max(1, BATCH_TOKENS // max(1, lengths[order[begin]]))]
        begin += len(chosen)
        yield chosen
