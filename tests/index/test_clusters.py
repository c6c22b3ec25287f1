from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oreqa.index.clusters import draw_across_clusters, k_means

SEED = st.integers(0, 3)


@given(st.integers(0, 30), st.integers(1, 12), SEED)
@settings(max_examples=40, deadline=None)
def test_every_vector_has_a_cluster(count: int, clusters: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, 4)).astype(np.float32)
    numbers = k_means(vectors, clusters, 1000, seed)
    assert numbers.shape == (count,)
    assert not count or (numbers.min() >= 0 and numbers.max() < clusters)
    assert (numbers == k_means(vectors, clusters, 1000, seed)).all()


def test_clusters_are_of_similar_vectors(capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 8)).astype(np.float32) * 20
    vectors = np.repeat(centres, 30, axis=0) + rng.normal(size=(90, 8)).astype(np.float32)
    numbers = k_means(vectors, 3, 10, 0).reshape(3, 30)
    assert all(len(set(row)) == 1 for row in numbers.tolist())
    assert len(set(numbers[:, 0].tolist())) == 3
    assert not any(capfd.readouterr())  # faiss warns of few points


@given(st.integers(0, 60), st.integers(1, 30), SEED)
@settings(max_examples=40, deadline=None)
def test_a_draw_has_no_vector_twice(total: int, count: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(total, 4)).astype(np.float32)
    drawn = draw_across_clusters(vectors, count, seed)
    assert drawn == sorted(set(drawn)) == draw_across_clusters(vectors, count, seed)
    assert len(drawn) == min(total, count)
    assert not drawn or (drawn[0] >= 0 and drawn[-1] < total)


def test_copies_of_one_passage_are_drawn_no_oftener_than_others() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 8)).astype(np.float32)
    vectors[100:] = vectors[100]
    drawn = draw_across_clusters(vectors, 40, 0)
    assert sum(place >= 100 for place in drawn) <= 10  # at random it would be 32
