"""Clusters of similar passages, by their vectors."""

from __future__ import annotations

import os
import random
import sys

import numpy as np

from oreqa.arrays import Floats, Ints

ITERATIONS = 25
"""Iterations of k-means."""

DRAWN_OF_CLUSTER = 4
"""Passages that are drawn of a cluster, on average."""

POINTS = 256
"""Vectors of a cluster that its centre is fitted to, at most, where nothing else is named."""


def _fit_alone() -> None:
    """A forked process lacks the threads that FAISS's OpenMP would wait for."""
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fit_alone)


def k_means(vectors: Floats, clusters: int, points: int, seed: int) -> Ints:
    """The number of each vector's cluster, ``[vectors]``, by Euclidean distance.

    There are at most ``clusters`` of them, fitted to at most ``points`` vectors each, drawn by ``seed``. Where there are no
    more vectors than clusters, each vector is a cluster.
    """
    if len(vectors) <= clusters:
        return np.arange(len(vectors), dtype=np.int32)
    import faiss

    fitted = faiss.Kmeans(
        vectors.shape[1],
        clusters,
        niter=ITERATIONS,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=points,
    )
    fitted.train(vectors)
    return fitted.assign(vectors)[1].astype(np.int32)


def draw_across_clusters(vectors: Floats, count: int, seed: int) -> list[int]:
    """The rising numbers of ``count`` vectors, drawn by ``seed`` from all clusters alike (Chandradevan et al. 2024).

    Of each cluster one vector is drawn, then of each a second, and so on: a subject is asked about as often as another,
    however many passages there are on it. All vectors are drawn if there are no more than ``count``.
    """
    if count >= len(vectors):
        return list(range(len(vectors)))
    numbers = k_means(vectors, max(1, count // DRAWN_OF_CLUSTER), POINTS, seed)
    rng = random.Random(seed)
    members: dict[int, list[int]] = {}
    for place in rng.sample(range(len(vectors)), len(vectors)):
        members.setdefault(int(numbers[place]), []).append(place)
    rounds = (
        (turn, cluster, place)
        for cluster, of_cluster in enumerate(members.values())
        for turn, place in enumerate(of_cluster)
    )
    return sorted(place for *_, place in sorted(rounds)[:count])
