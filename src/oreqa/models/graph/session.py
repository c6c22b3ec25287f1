"""Inference sessions: one protocol for all families and devices, from padded batches to batches with outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError

BATCH_TOKENS = 1024
"""Most tokens in a batch, padding included: enough for efficient matrix products, few enough for the CPU caches."""

_MIN_TOKENS, _MIN_BATCHES = 128, 8
"""A small workload is split into about _MIN_BATCHES batches of at least _MIN_TOKENS tokens, so that all cores get work."""

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs of similar length: the model's padded input arrays, each ``[batch, ...]``, and the inputs' indices."""

    arrays: tuple[NDArray[Any], ...]
    numbers: NDArray[np.intp]


Outputs = Iterator[tuple[Batch, list[NDArray[Any]]]]
"""Batches with the model's outputs, each ``[batch, ...]``. An output may be a view: valid until the next batch is drawn."""


class Session(Protocol):
    """A model loaded on a device."""

    def run(self, batches: Iterator[Batch]) -> Outputs:
        """Yield each batch with its outputs, in order. Batches are drawn only as fast as they can be started."""
        ...


def batches_by_length(lengths: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """Yield the indices of the inputs of each batch, longest inputs first, in batches of at most BATCH_TOKENS tokens.

    Batching inputs of similar length keeps padding short.
    """
    limit = min(BATCH_TOKENS, max(_MIN_TOKENS, sum(lengths) // _MIN_BATCHES))
    order = np.argsort([-length for length in lengths], kind="stable")
    begin = 0
    while begin < len(order):
        chosen = order[begin : begin + max(1, limit // max(1, lengths[order[begin]]))]
        begin += len(chosen)
        yield chosen


def check_finite(numbers: NDArray[Any], path: Path) -> None:
    """Raise ModelError if the model in ``path`` computed NaN or infinite values, which its results might hide."""
    if not np.isfinite(numbers).all():
        raise ModelError(f"{path}: the model gives NaN or infinite numbers: copy it again, or train it more slowly")
