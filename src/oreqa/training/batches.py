"""The order in which examples are seen: batches of similar length, at random, so that little is computed on padding."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from oreqa.training.retriever_examples import Example

T = TypeVar("T")

STRETCH = 64
"""So many batches are sorted by length at a time: what stands in a batch stays mostly random."""

PASSAGE_STRETCH = 16
"""The same for batches of whole passages, in passages for each example of a batch."""


def batches_by_length(examples: Sequence[T], length: Callable[[T], object], batch: int, rng: random.Random) -> list[list[T]]:
    """Batches of ``batch`` examples, in random order; those that are not full come last.

    ``length`` gives what is sorted by. The examples should come in random order themselves.
    """
    stretch = STRETCH * batch
    batches = []
    for begin in range(0, len(examples), stretch):
        alike = sorted(examples[begin : begin + stretch], key=length)  # type: ignore[arg-type]
        batches += _cut(alike, batch)
    return _full_ones_shuffled(batches, batch, rng)


def by_passage(examples: Sequence[Example], batch: int, rng: random.Random) -> list[list[Example]]:
    """Batches of a retriever: the questions of a passage together, so that it is encoded once for them; passages at random,
    near others of like length. Those that are not full come last."""
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[example.positive.context].append(example)
    passages = list(groups.values())
    rng.shuffle(passages)
    stretch, batches = PASSAGE_STRETCH * batch, []
    for begin in range(0, len(passages), stretch):
        alike = sorted(passages[begin : begin + stretch], key=lambda group: _length(group[0]))
        batches += _cut([example for group in alike for example in rng.sample(group, len(group))], batch)
    return _full_ones_shuffled(batches, batch, rng)


def in_a_row(epochs: Iterable[Sequence[list[T]]], batch: int) -> list[T]:
    """The examples of all batches of all epochs, one after another: each ``batch`` of them is a batch. Batches that are not
    full come last, since in between they would shift all that follow."""
    batches = [rows for epoch in epochs for rows in epoch]
    full, rest = ([rows for rows in batches if (len(rows) == batch) == is_full] for is_full in (True, False))
    return [example for rows in full + rest for example in rows]


def _length(example: Example) -> int:
    return len(example.positive.context)


def _cut(examples: Sequence[T], batch: int) -> list[list[T]]:
    return [list(examples[first : first + batch]) for first in range(0, len(examples), batch)]


def _full_ones_shuffled(batches: Sequence[list[T]], batch: int, rng: random.Random) -> list[list[T]]:
    full = [rows for rows in batches if len(rows) == batch]
    rng.shuffle(full)
    return full + [rows for rows in batches if len(rows) < batch]
