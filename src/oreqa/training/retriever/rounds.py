"""Rounds of a retriever's training: each pair once, in batches without repeated passages.

Batches are drawn from all pairs, or each from one cluster of similar passages (Xiong et al. 2021, Algorithm 1).
"""

from __future__ import annotations

import io
import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from oreqa.files import write_bytes
from oreqa.index.clusters import k_means
from oreqa.training.distributed import from_first_process, process_number
from oreqa.training.retriever.examples import PassageKey, RetrieverExample
from oreqa.training.retriever.recipe import RoundOrder

Batches: TypeAlias = list[list[RetrieverExample]]

CLUSTER_POINTS = 1000
"""The most passages of a cluster that its centre is fitted to, as in the released code."""

OfPart = Callable[[int], Mapping[PassageKey, int]]
"""Returns the cluster of each passage in a part of a round, by its number among the parts of all rounds."""


def batches_in_a_round(examples: Sequence[RetrieverExample], batch: int) -> int:
    """Return the fewest batches of at most ``batch`` examples without repeated passages."""
    repeats = Counter(example.passage for example in examples)
    return max(-(-len(examples) // batch), max(repeats.values(), default=0))


def distinct_batches(examples: Sequence[RetrieverExample], batch: int, rng: random.Random) -> Batches:
    """Return random pairs in ``batches_in_a_round`` batches of about equal size."""
    return _shuffled(_deal(_by_passage(examples, rng), batches_in_a_round(examples, batch), rng), rng)


def cluster_batches(
    examples: Sequence[RetrieverExample], clusters: Mapping[PassageKey, int], batch: int, rng: random.Random
) -> Batches:
    """Return as many full single-cluster batches as the pairs allow, in random order among batches of the rest.

    There are ``batches_in_a_round`` batches in all, whatever the ``clusters``: full single-cluster ones are split up if the
    rest needs more. Raises KeyError for a passage without a cluster.
    """
    members: dict[int, list[RetrieverExample]] = defaultdict(list)
    for example in examples:
        members[clusters[example.source]].append(example)
    full: Batches = []
    left: list[RetrieverExample] = []
    for number in sorted(members):
        passages = _by_passage(members[number], rng)
        count = _full_batches([len(questions) for questions in passages], batch)
        chosen, rest = _take(passages, count, batch)
        full += _deal(chosen, count, rng)
        left += rest
    rng.shuffle(full)
    total = batches_in_a_round(examples, batch)
    while left:
        passage, repeats = Counter(example.passage for example in left).most_common(1)[0]
        if repeats <= total - len(full):
            break
        others = (place for place, rows in enumerate(full) if all(example.passage != passage for example in rows))
        left += full.pop(next(others, -1))
    return _shuffled(full + _deal(_by_passage(left, rng), total - len(full), rng), rng)


@dataclass(frozen=True, slots=True)
class RetrieverRounds:
    """The rounds of a training run. ``draw`` returns the pairs of a round; each passage has equally many in every round.

    A round has several consecutive ``parts`` with their own clusters: each pair is in one of them.
    """

    order: RoundOrder
    count: int
    batch: int
    seed: int
    draw: Callable[[random.Random], list[RetrieverExample]]
    clusters: OfPart
    """Only called with the order ``clusters``."""
    parts: int = 1

    @property
    def batches(self) -> int:
        """Batches of a round."""
        rng = random.Random(self.seed)
        return sum(batches_in_a_round(part, self.batch) for part in self._split(self.draw(rng), rng))

    def begin(self, number: int) -> Sequence[list[RetrieverExample]]:
        """Return the batches of a round; they do not depend on earlier rounds, except for its clusters."""
        rng = random.Random(f"{self.seed} {number}")
        examples = self._split(self.draw(rng), rng)
        if self.order == "distinct":
            return [batch for part in examples for batch in distinct_batches(part, self.batch, rng)]
        makes = [
            partial(self._cluster_batches, part, self.parts * number + place, random.Random(rng.random()) if place else rng)
            for place, part in enumerate(examples)
        ]
        return _BatchesInParts(makes, [batches_in_a_round(part, self.batch) for part in examples])

    def _cluster_batches(self, examples: Sequence[RetrieverExample], part: int, rng: random.Random) -> Batches:
        return cluster_batches(examples, self.clusters(part), self.batch, rng)

    def _split(self, examples: list[RetrieverExample], rng: random.Random) -> Batches:
        """Return the examples of each part, equally many in every round; those of a passage are spread over the parts."""
        if self.parts == 1:
            return [examples]
        parts: Batches = [[] for _ in range(self.parts)]
        groups: dict[str | PassageKey, list[RetrieverExample]] = defaultdict(list)
        for example in examples:
            groups[example.passage].append(example)
        by_size = sorted(groups.values(), key=len, reverse=True)
        in_turn = (example for group in by_size for example in rng.sample(group, len(group)))
        for place, example in enumerate(in_turn):
            parts[place % self.parts].append(example)
        return [part for part in parts if part]


class _BatchesInParts(Sequence[list[RetrieverExample]]):
    """Batches of several parts, each created when its first batch is requested, with the model at that time."""

    def __init__(self, makes: Sequence[Callable[[], Batches]], counts: Sequence[int]) -> None:
        self._makes, self._ends = makes, list(accumulate(counts))
        self._made: dict[int, Batches] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, number: Any) -> Any:
        place = range(len(self))[number]
        part = bisect_right(self._ends, place)
        if part not in self._made:
            self._made[part] = self._makes[part]()
        return self._made[part][place - self._ends[part]]


def _by_passage(examples: Iterable[RetrieverExample], rng: random.Random) -> Batches:
    """Return the pairs of each passage, in random order; passages in random order."""
    groups: dict[str | PassageKey, list[RetrieverExample]] = defaultdict(list)
    for example in examples:
        groups[example.passage].append(example)
    passages = [rng.sample(group, len(group)) for group in groups.values()]
    return _shuffled(passages, rng)


def _full_batches(repeats: Sequence[int], batch: int) -> int:
    """Return how many batches of ``batch`` different passages exist for passages with these numbers of pairs."""
    count = sum(repeats) // batch
    while sum(min(count, pairs) for pairs in repeats) < count * batch:
        count -= 1
    return count


def _take(passages: Batches, count: int, batch: int) -> tuple[Batches, list[RetrieverExample]]:
    """Return ``count * batch`` pairs, at most ``count`` of each passage, and the rest.

    Passages with the most pairs come first, so that the rest repeats few.
    """
    room, chosen, rest = count * batch, [], []
    for questions in sorted(passages, key=len, reverse=True):
        size = min(count, len(questions), room)
        room -= size
        chosen.append(questions[:size])
        rest += questions[size:]
    return chosen, rest


def _deal(passages: Batches, count: int, rng: random.Random) -> Batches:
    """Return ``count`` batches whose sizes differ by at most one; no passage may have more pairs than there are batches."""
    batches: Batches = [[] for _ in range(count)]
    waiting: list[int] = []
    for questions in passages:
        taken: set[int] = set()
        for question in questions:
            if not waiting:
                waiting = rng.sample(range(count), count)
            place = next(place for place in range(len(waiting) - 1, -1, -1) if waiting[place] not in taken)
            number = waiting.pop(place)
            taken.add(number)
            batches[number].append(question)
    return batches


def _shuffled(rows: Batches, rng: random.Random) -> Batches:
    return rng.sample(rows, len(rows))


@dataclass(frozen=True, slots=True)
class PassageClusters:
    """The clusters of a run's ``passages``, recomputed every ``interval`` parts of rounds from the current ``encode``.

    ``encode`` returns vectors ``[passages, D]``. Clusters are stored in ``folder``, where a run that resumes within a round
    reads them: its model has changed since they were made.
    """

    passages: Sequence[PassageKey]
    encode: Callable[[Sequence[PassageKey]], NDArray[np.float32]]
    number: int
    interval: int
    seed: int
    folder: Path

    def clusters_of_part(self, number: int) -> Mapping[PassageKey, int]:
        """Return the cluster of each passage in a part of a round."""
        return dict(zip(self.passages, self._assignments(number // self.interval).tolist(), strict=True))

    def _assignments(self, clustering: int) -> NDArray[np.int32]:
        """Return each passage's cluster, ``[passages]``, in the clustering of that number; the same in all processes."""
        file, writes = self.folder / f"clusters-{clustering}.npy", process_number()[0] == 0
        stored: NDArray[np.int32] | None = from_first_process(np.load(file) if writes and file.is_file() else None)
        if stored is not None:
            return stored
        # All processes encode all passages, so that none waits for results of another.
        numbers = from_first_process(
            k_means(self.encode(self.passages), self.number, CLUSTER_POINTS, self.seed + clustering)
        )
        if writes:
            content = io.BytesIO()
            np.save(content, numbers)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_bytes(file, content.getvalue())
        return numbers
