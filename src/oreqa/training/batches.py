"""The order of examples: random batches of similar length, to reduce padding."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

STRETCH = 64
"""Batches sorted by length at a time: the content of a batch stays mostly random."""

TOKENISED_TOGETHER = 1024
"""Texts of examples tokenised at a time."""


def shuffled(examples: Sequence[T], rng: random.Random) -> list[T]:
    """Return the examples in random order."""
    drawn = list(examples)
    rng.shuffle(drawn)
    return drawn


def similar_length_batches(
    examples: Sequence[T], length: Callable[[T], object], batch: int, rng: random.Random
) -> list[list[T]]:
    """Return batches of ``batch`` examples, in random order; incomplete ones come last.

    ``length`` is the sort key. The examples should be in random order already.
    """
    stretch = STRETCH * batch
    batches = []
    for begin in range(0, len(examples), stretch):
        alike = sorted(examples[begin : begin + stretch], key=length)  # type: ignore[arg-type]
        batches += cut(alike, batch)
    return full_ones_shuffled(batches, batch, rng)


def in_a_row(epochs: Iterable[Sequence[list[T]]], batch: int) -> list[T]:
    """Concatenate the examples of all batches of all epochs, so that each ``batch`` of them is a batch.

    Incomplete batches come last, as they would shift all that follow.
    """
    batches = [rows for epoch in epochs for rows in epoch]
    full, rest = ([rows for rows in batches if (len(rows) == batch) == is_full] for is_full in (True, False))
    return [example for rows in full + rest for example in rows]


def cut(examples: Sequence[T], batch: int) -> list[list[T]]:
    return [list(examples[first : first + batch]) for first in range(0, len(examples), batch)]


def full_ones_shuffled(batches: Sequence[list[T]], batch: int, rng: random.Random) -> list[list[T]]:
    full = shuffled([rows for rows in batches if len(rows) == batch], rng)
    return full + [rows for rows in batches if len(rows) < batch]
