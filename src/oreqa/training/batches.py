"""Batches of like length in random order, so that little is computed on padding."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

STRETCH = 64
"""So many batches are sorted by length at a time: what stands in a batch stays mostly random."""


def batches_by_length(examples: Sequence[T], length: Callable[[T], object], batch: int, rng: random.Random) -> list[list[T]]:
    """Batches of ``batch`` examples, in random order; those that are not full come last.

    ``length`` gives what is sorted by. The examples should come in random order themselves.
    """
    stretch = STRETCH * batch
    batches = []
    for begin in range(0, len(examples), stretch):
        near = sorted(examples[begin : begin + stretch], key=length)  # type: ignore[arg-type]
        batches += [near[first : first + batch] for first in range(0, len(near), batch)]
    full = [found for found in batches if len(found) == batch]
    rng.shuffle(full)
    return full + [found for found in batches if len(found) < batch]
