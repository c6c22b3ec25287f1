"""What all sessions share: batches of inputs of like length, and a check of what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError

BATCH_TOKENS = 1024
"""Tokens of a batch, padding included: enough to keep the matrix products busy, and small enough for the caches."""

LEAST_TOKENS, LEAST_BATCHES = 128, 8
"""Little work is cut into smaller batches than that, so that all cores have some of it."""


def by_length(lengths: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """The numbers of the inputs of each batch, longest first, in batches of at most BATCH_TOKENS tokens.

    Inputs of like length stand together, so that little is computed on padding.
    """
    room = min(BATCH_TOKENS, max(LEAST_TOKENS, sum(lengths) // LEAST_BATCHES))
    order = np.argsort([-length for length in lengths], kind="stable")
    begin = 0
    while begin < len(order):
        chosen = order[begin : begin + max(1, room // max(1, lengths[order[begin]]))]
        begin += len(chosen)
        yield chosen


def check_finite(numbers: NDArray[Any], path: Path) -> None:
    """Raises ModelError if the model in ``path`` has given NaN or infinite numbers: nobody could tell from its results."""
    if not np.isfinite(numbers).all():
        raise ModelError(f"{path}: the model gives NaN or infinite numbers: copy or download it again")
