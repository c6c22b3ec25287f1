"""Ranks and retrieval metrics. Ties get the mean rank, so that a constant scorer gains nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

CUTOFFS = (1, 5, 10, 20, 100)


def gold_ranks(scores: NDArray[np.floating], gold: Sequence[int]) -> list[float]:
    """Ranks, from 1, of the gold candidates among all ``scores``; equal scores share their mean rank."""
    ranks = []
    for candidate in gold:
        gold_score = scores[candidate]
        higher, equal = np.count_nonzero(scores > gold_score), np.count_nonzero(scores == gold_score)
        ranks.append(higher + (equal + 1) / 2)
    return sorted(ranks)


def question_metrics(ranks: Sequence[float]) -> dict[str, float]:
    """One question's metrics from the sorted ranks of its gold candidates, as fractions.

    ``mrr`` is the reciprocal of the best rank; ``mrr@100`` counts ranks beyond 100 as 0 (Yang et al. 2021 report it);
    ``p@N`` is 1 if any gold is in the top N (hit rate); ``r@N`` is the fraction of the gold in the top N (ENDX, Eq. 15). A
    gold candidate that was not retrieved has the rank infinity.
    """
    best = ranks[0]
    metrics = {"mrr": 1 / best, "mrr@100": 1 / best if best <= 100 else 0.0}
    for cutoff in CUTOFFS:
        inside = sum(rank <= cutoff for rank in ranks)
        metrics[f"p@{cutoff}"] = float(inside > 0)
        metrics[f"r@{cutoff}"] = inside / len(ranks)
    return metrics


def mean_metrics(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Means over questions, in percent, rounded to two digits; no questions, no metrics."""
    if not rows:
        return {}
    return {name: round(100 * float(np.mean([row[name] for row in rows])), 2) for name in rows[0]}
