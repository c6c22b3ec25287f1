"""Metrics of ranks and of scores against labels, and tests of whether two systems differ on the same questions.

Tied ranks get their mean, so that a constant scorer gains nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oreqa.arrays import Flags, Reals

CUTOFFS = (1, 5, 10, 20, 100)

CALIBRATION_BINS, RESAMPLES = 10, 10_000

MEANING = {
    "acc": "share of pairs classified right at p = 0.5",
    "auc_pr": "area under the precision-recall curve",
    "majority_acc": "accuracy of always saying no",
    "cosine_acc": "accuracy of the dual encoder's cosine, its threshold chosen on other questions",
    "cosine_auc_pr": "area under its precision-recall curve",
    "em": "share of questions whose answer is exactly right",
    "f1": "overlap of words with the right answer",
    "rouge_l": "longest common subsequence of words with the question that a person asked, F1",
    "rouge_l_coco": "the same as published figures count it: with punctuation, recall weighing more (coco-caption)",
    "bleu_4": "share of word sequences of up to 4 words that it has in common with that question",
    "right": "right answers, or refusals where there is none",
    "answerable_right": "right answers to the answerable questions",
    "refused_unanswerable": "share of the unanswerable questions that were refused",
    "refused_answerable": "share of the answerable questions that were refused",
    "precision": "share of the answers that are right",
    "auc_answerable": "how often the confidence is higher for an answerable question than for an unanswerable one",
    "auc_right": "how often it is higher for a right answer, from an F1 of 0.5, than for another",
    "ece": "expected calibration error: mean distance between the probability and the share that is right",
    "em@5": "an exactly right answer among the first 5",
    "em@10": "an exactly right answer among the first 10",
    "em@25": "an exactly right answer among the first 25",
    "acc@1": "the first passage that was read holds an answer",
    "acc@5": "one of the first 5 passages that were read holds an answer",
    "acc@10": "one of the first 10 passages that were read holds an answer",
    "mrr": "mean reciprocal rank of the first gold",
    "mrr@100": "the same, cut at rank 100",
    "ndcg@10": "graded gain of the top 10",
    "p@1": "share of questions with a gold in the top 1 (hit rate)",
    "p@5": "hit rate, top 5",
    "p@10": "hit rate, top 10",
    "r@1": "share of a question's gold found in the top 1",
    "r@5": "share of the gold, top 5",
    "r@10": "share of the gold, top 10",
}
"""The metrics that are shown, in this order, and their meaning."""


def gold_ranks(scores: Reals, gold: Sequence[int]) -> list[float]:
    """Return ranks, from 1, of the gold candidates among all ``scores``; equal scores share their mean rank."""
    ranks = []
    for candidate in gold:
        gold_score = scores[candidate]
        higher, equal = np.count_nonzero(scores > gold_score), np.count_nonzero(scores == gold_score)
        ranks.append(higher + (equal + 1) / 2)
    return sorted(ranks)


def question_metrics(ranks: Sequence[float]) -> dict[str, float]:
    """Return one question's metrics from the sorted ranks of its gold candidates, as fractions.

    ``mrr`` is the reciprocal of the best rank; ``mrr@100`` counts ranks beyond 100 as 0 (reported by Yang et al. 2021);
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
    """Return means over questions, in percent, rounded to two digits; empty without questions."""
    if not rows:
        return {}
    return {name: round(100 * float(np.mean([row[name] for row in rows])), 2) for name in rows[0]}


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions of similar probability: their share of all, their mean probability, and the share that is right."""

    share: float
    confidence: float
    accuracy: float


def average_precision(scores: Reals, labels: Flags) -> float:
    """Return the area under the precision-recall curve as the sum of precision times recall gain; ties are one step."""
    if not labels.any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(scores[order])), len(order) - 1]
    true_positives = np.cumsum(labels[order])[ends]
    precision = true_positives / (ends + 1)
    return float(np.sum(precision * np.diff(np.r_[0, true_positives])) / true_positives[-1])


def roc_area(scores: Reals, labels: Flags) -> float:
    """Return how often a true score exceeds a false one; ties count half. 0.5 if a class is empty."""
    false = np.sort(scores[~labels])
    true = scores[labels]
    if not len(true) or not len(false):
        return 0.5
    lower, not_higher = np.searchsorted(false, true, "left"), np.searchsorted(false, true, "right")
    return float(np.mean(lower + not_higher) / (2 * len(false)))


def best_threshold(scores: Reals, labels: Flags) -> float:
    """Return the threshold with the highest accuracy; scores that reach it are predicted true."""
    order = np.argsort(-scores, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(scores[order])), len(order) - 1]
    true_positives = np.cumsum(labels[order])[ends]
    negatives = np.count_nonzero(~labels)
    correct = np.r_[negatives, true_positives + negatives - (ends + 1 - true_positives)]
    best = int(np.argmax(correct))
    return float("inf") if best == 0 else float(scores[order][ends[best - 1]])


def coverage(scores: Reals, labels: Flags, precision: float) -> float:
    """Return the largest share of items above a threshold of which at least ``precision`` are true; 0 if there is none."""
    order = np.argsort(-scores, kind="stable")
    ends = np.diff(scores[order], append=-np.inf) != 0  # a threshold splits no tie
    shares = np.cumsum(labels[order]) / np.arange(1, len(order) + 1)
    reached = np.flatnonzero(ends & (shares >= precision))
    return float((reached[-1] + 1) / len(order)) if len(reached) else 0.0


def calibration_error(probabilities: Reals, labels: Flags) -> float:
    """Return the expected calibration error over ``CALIBRATION_BINS`` of equal width."""
    return float(sum(row.share * abs(row.confidence - row.accuracy) for row in calibration(probabilities, labels)))


def calibration(probabilities: Reals, labels: Flags) -> list[Bin]:
    """Return the non-empty bins of equal width, from the least probable on."""
    numbers = np.minimum((probabilities * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    rows = []
    for number in np.unique(numbers):
        inside = numbers == number
        rows.append(Bin(float(inside.mean()), float(probabilities[inside].mean()), float(labels[inside].mean())))
    return rows


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of ``b - a`` over questions, its 95% bootstrap interval, and the two-sided p-value under no difference."""

    mean: float
    low: float
    high: float
    p: float


def paired_difference(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Difference:
    """Compare per-question values of two systems (Fisher's randomisation test: signs flipped at random).

    The p-value counts the observed arrangement, (1 + extreme) / (1 + resamples), so it is never 0. Raises ValueError if the
    lists differ in length or are empty.
    """
    if len(a) != len(b) or not len(a):
        raise ValueError(f"paired values are needed: {len(a)} and {len(b)} given")
    delta = np.asarray(b, float) - np.asarray(a, float)
    moved = delta[delta != 0]
    observed = float(delta.mean())
    rng = np.random.default_rng(seed)
    extreme = 0
    means = np.empty(RESAMPLES)
    step = max(1, 4_000_000 // len(delta))
    for begin in range(0, RESAMPLES, step):
        count = min(step, RESAMPLES - begin)
        signs = rng.integers(0, 2, (count, len(moved)), np.int8) * np.int8(2) - np.int8(1)
        flipped = np.abs(signs @ moved) / len(delta)
        extreme += int(np.count_nonzero(flipped >= abs(observed) - 1e-12))
        means[begin : begin + count] = delta[rng.integers(0, len(delta), (count, len(delta)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Difference(observed, float(low), float(high), (1 + extreme) / (1 + RESAMPLES))
