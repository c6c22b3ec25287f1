"""Batches that hold no passage twice: what must be so whatever the pairs and the clusters are."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytestmark = pytest.mark.train

from oreqa.datasets.pairs import Candidate  # noqa: E402
from oreqa.training.retriever.examples import PassageKey, RetrieverExample  # noqa: E402
from oreqa.training.retriever.rounds import (  # noqa: E402
    PassageClusters,
    RetrieverRounds,
    batches_in_a_round,
    cluster_batches,
    distinct_batches,
)


def examples(questions: list[int]) -> list[RetrieverExample]:
    """So many questions of each passage."""
    return [
        RetrieverExample(f"{passage}.{number}", Candidate("it", f"it {passage}"), 1.0, (), ())
        for passage, count in enumerate(questions)
        for number in range(count)
    ]


def source(passage: int) -> PassageKey:
    return f"it {passage}", ""


def names(batches: list[list[RetrieverExample]]) -> list[list[str]]:
    return [[row.question for row in rows] for rows in batches]


PASSAGES = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 4)), max_size=40)
"""Of each passage the number of its questions and its cluster."""
BATCH = st.integers(1, 9)
SEED = st.integers(0, 99)


def check_a_round(rows: list[RetrieverExample], batches: list[list[RetrieverExample]], batch: int) -> None:
    assert sorted(e.question for b in batches for e in b) == sorted(e.question for e in rows)
    assert len(batches) == batches_in_a_round(rows, batch)
    for members in batches:
        assert 1 <= len(members) <= batch
        assert len({e.source for e in members}) == len(members)


@given(PASSAGES, BATCH, SEED)
@case([], 3, 0)
@case([(6, 0)], 4, 0)
@case([(1, 0)], 1, 0)
def test_distinct_batches_hold_every_pair_once_and_no_passage_twice(
    passages: list[tuple[int, int]], batch: int, seed: int
) -> None:
    rows = examples([count for count, _ in passages])
    batches = distinct_batches(rows, batch, random.Random(seed))
    check_a_round(rows, batches, batch)
    sizes = [len(members) for members in batches]
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
    assert names(batches) == names(distinct_batches(rows, batch, random.Random(seed)))


@settings(max_examples=300)
@given(PASSAGES, BATCH, SEED)
@case([], 3, 0)
@case([(6, 0)], 4, 0)
@case([(2, 0), (2, 0), (2, 1)], 3, 0)
@case([(1, number) for number in range(5)], 4, 0)
def test_cluster_batches_hold_every_pair_once_and_no_passage_twice(
    passages: list[tuple[int, int]], batch: int, seed: int
) -> None:
    rows = examples([count for count, _ in passages])
    clusters = {source(number): cluster for number, (_, cluster) in enumerate(passages)}
    batches = cluster_batches(rows, clusters, batch, random.Random(seed))
    check_a_round(rows, batches, batch)
    assert names(batches) == names(cluster_batches(rows, clusters, batch, random.Random(seed)))

    # Each cluster fills as many batches as it can: what is left of all is mixed, unless it could not be put apart.
    fullest = {cluster: most_full_batches([n for n, c in passages if c == cluster], batch) for _, cluster in passages}
    mixed = [members for members in batches if len({clusters[e.source] for e in members}) > 1]
    repeats = max((count for count, _ in passages), default=0)
    if len(batches) - sum(fullest.values()) >= repeats:
        assert len(mixed) <= len(batches) - sum(fullest.values())
        pure = Counter(clusters[m[0].source] for m in batches if len(m) == batch and m not in mixed)
        assert all(pure[cluster] >= count for cluster, count in fullest.items())


def most_full_batches(repeats: list[int], batch: int) -> int:
    """Filled one by one, always from the passages that have most questions left."""
    left, count = sorted(repeats, reverse=True), 0
    while len(left) >= batch:
        left = sorted([n - (place < batch) for place, n in enumerate(left)], reverse=True)
        left = [n for n in left if n]
        count += 1
    return count


def test_forms_of_one_passage_never_share_a_batch() -> None:
    rows = [replace(row, name=str(number // 3)) for number, row in enumerate(examples([1] * 30))]
    clusters = {source(number): number % 2 for number in range(30)}
    for batches in (distinct_batches(rows, 5, random.Random(0)), cluster_batches(rows, clusters, 5, random.Random(0))):
        assert len(batches) == 6
        assert all(len({row.name for row in members}) == len(members) for members in batches)


def test_clusters_come_in_random_order_and_what_is_left_among_them() -> None:
    rows = examples([3] * 200)
    clusters = {source(number): number % 10 for number in range(200)}
    batches = cluster_batches(rows, clusters, 8, random.Random(0))
    assert len(batches) == 75
    pure = [next(iter(cluster)) for m in batches if len(cluster := {clusters[e.source] for e in m}) == 1]
    assert len(pure) >= 70
    assert len(set(pure[:20])) > 5  # not cluster after cluster
    mixed = [place for place, m in enumerate(batches) if len({clusters[e.source] for e in m}) > 1]
    assert mixed
    assert mixed[0] < len(batches) - len(mixed)  # not all at the end
    other = cluster_batches(rows, clusters, 8, random.Random(1))
    assert names(batches) != names(other)


def test_distinct_batches_mix_passages_anew_in_each_batch() -> None:
    batches = distinct_batches(examples([3] * 120), 12, random.Random(0))
    companions = Counter(frozenset((a.source, b.source)) for m in batches for a in m for b in m if a.source < b.source)
    # By chance two or three pairs of passages meet with all their questions; dealt in turn, it would be 660.
    assert sum(meetings == 3 for meetings in companions.values()) < 20


def rounds_of(order: str, interval: int = 1, parts_encoded: list[int] | None = None) -> RetrieverRounds:
    parts_encoded = [] if parts_encoded is None else parts_encoded

    def clusters(number: int) -> dict[PassageKey, int]:
        parts_encoded.append(number // interval)
        return {source(passage): passage % 2 for passage in range(20)}

    def draw(rng: random.Random) -> list[RetrieverExample]:
        return examples([2] * 20)

    return RetrieverRounds(order, 3, 4, 7, draw, clusters)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["distinct", "clusters"])
def test_a_round_is_the_same_whenever_it_begins(order: str) -> None:
    rounds, parts_encoded = rounds_of(order), []
    batches = [names(rounds.begin(number)) for number in range(3)]
    assert batches[0] != batches[1] != batches[2]
    assert names(rounds_of(order, parts_encoded=parts_encoded).begin(2)) == batches[2]
    assert parts_encoded == ([2] if order == "clusters" else [])
    assert {len(found) for found in batches} == {rounds.batches}


@given(PASSAGES.filter(bool), BATCH, st.integers(2, 4), SEED)
@settings(max_examples=40, deadline=None)
def test_parts_of_a_round_hold_every_pair_once_and_cluster_anew(
    passages: list[tuple[int, int]], batch: int, parts: int, seed: int
) -> None:
    rows = examples([count for count, _ in passages])
    parts_encoded: list[int] = []

    def clusters(part: int) -> dict[PassageKey, int]:
        parts_encoded.append(part)
        return {source(number): cluster for number, (_, cluster) in enumerate(passages)}

    rounds = RetrieverRounds("clusters", 2, batch, seed, lambda rng: rng.sample(rows, len(rows)), clusters, parts)
    for number in (1, 0):
        batches = rounds.begin(number)
        assert not parts_encoded  # the model of the next part is not there yet
        assert len(batches) == rounds.batches
        seen = []
        for place, members in enumerate(batches):
            assert 1 <= len(members) <= batch
            assert len({example.source for example in members}) == len(members)
            if place == 0:
                assert parts_encoded == [parts * number]
            seen += members
        assert sorted(example.question for example in seen) == sorted(example.question for example in rows)
        assert parts_encoded == [parts * number + part for part in range(min(parts, len(rows)))]
        assert batches[-1] == members
        parts_encoded.clear()


def test_clusters_are_kept_for_those_who_resume_and_made_anew_at_the_interval(tmp_path: Path) -> None:
    passages = [source(number) for number in range(12)]
    times = 0

    def encode(received: object) -> np.ndarray:
        nonlocal times
        assert received == passages
        times += 1
        return np.random.default_rng(times).normal(size=(12, 4)).astype(np.float32)

    def clusters() -> PassageClusters:
        return PassageClusters(passages, encode, 3, 2, 0, tmp_path / "checkpoints")

    first, second, third = (clusters().clusters_of_part(number) for number in range(3))
    assert times == 2
    assert first == second
    assert first != third
    assert clusters().clusters_of_part(1) == first  # the model has moved on
    assert times == 2
    assert list(first) == passages
