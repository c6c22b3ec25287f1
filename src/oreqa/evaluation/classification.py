"""Metrics of scores against labels: average precision, area under the ROC curve, the best threshold, calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions of like probability: their share of all, their mean probability, and the share of them that is right."""

    share: float
    confidence: float
    accuracy: float


def average_precision(scores: Floats, labels: Labels) -> float:
    """Area under the precision-recall curve as the sum of precision times the gain in recall; ties count as one step."""
    if not labels.any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(scores[order])), len(order) - 1]
    true_positives = np.cumsum(labels[order])[ends]
    precision = true_positives / (ends + 1)
    return float(np.sum(precision * np.diff(np.r_[0, true_positives])) / true_positives[-1])


def roc_area(scores: Floats, labels: Labels) -> float:
    """How often a true one of two scores is higher than a false one; ties count half. 0.5 where a class is empty."""
    false = np.sort(scores[~labels])
    true = scores[labels]
    if not len(true) or not len(false):
        return 0.5
    lower, not_higher = np.searchsorted(false, true, "left"), np.searchsorted(false, true, "right")
    return float(np.mean(lower + not_higher) / (2 * len(false)))


def best_threshold(scores: Floats, labels: Labels) -> float:
    """The threshold of the highest accuracy; scores that reach it are predicted to be true."""
    order = np.argsort(-scores, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(scores[order])), len(order) - 1]
    true_positives = np.cumsum(labels[order])[ends]
    negatives = np.count_nonzero(~labels)
    correct = np.r_[negatives, true_positives + negatives - (ends + 1 - true_positives)]
    best = int(np.argmax(correct))
    return float("inf") if best == 0 else float(scores[order][ends[best - 1]])


def calibration_error(probabilities: Floats, labels: Labels, bins: int = 10) -> float:
    """Expected calibration error over ``bins`` of equal width."""
    return float(sum(row.share * abs(row.confidence - row.accuracy) for row in calibration(probabilities, labels, bins)))


def calibration(probabilities: Floats, labels: Labels, bins: int = 10) -> list[Bin]:
    """The bins of equal width that are not empty, from the least probable on."""
    numbers = np.minimum((probabilities * bins).astype(int), bins - 1)
    rows = []
    for number in np.unique(numbers):
        inside = numbers == number
        rows.append(Bin(float(inside.mean()), float(probabilities[inside].mean()), float(labels[inside].mean())))
    return rows
