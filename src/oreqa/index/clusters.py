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
"""Passages drawn from a cluster, on average."""

POINTS = 256
"""The most vectors of a cluster that its centre is fitted to, by default."""


def _fit_alone() -> None:
    """Keep FAISS from using OpenMP in a forked process, which lacks the threads it would wait for."""
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fit_alone)


def k_means(vectors: Floats, clusters: int, points: int, seed: int) -> Ints:
    """Return each vector's cluster number, ``[vectors]``, by Euclidean distance.

    At most ``clusters`` clusters are fitted, each to at most ``points`` vectors drawn by ``seed``. If there are no more
    vectors than clusters, each vector is a cluster.
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
    """Return ``count`` vector numbers, rising, drawn by ``seed`` evenly from all clusters (Chandradevan et al. 2024).

    One vector is drawn from each cluster, then a second from each, and so on, so that every subject is drawn equally often,
    however many passages it has. If there are no more than ``count`` vectors, all are drawn.
    """
    if count >= len(vectors):
        return list(range(len(vectors)))
    numbers = k_means(vectors, max(1, count // DRAWN_OF_CLUSTER), POINTS, seed)
    rng = random.Random(seed)
    members: dict[int, list[int]] = {}
    for place in rng.sample(range(len(vectors)), len(vectors)):
        members.setdefault(int(numbers[place]), []).append(place)
    rounds = ((turn, cluster, place) for cluster, places in enumerate(members.values()) for turn, place in enumerate(places))
    return sorted(place for *_, place in sorted(rounds)[:count])
