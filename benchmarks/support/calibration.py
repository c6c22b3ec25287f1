"""Logistic regression of right answers, its threshold, and what it is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

GRID = np.linspace(0.01, 0.8, 80)
"""Thresholds that are tried."""

Features = dict[str, NDArray[Any]]
"""Features of every question's best answer, ``x``; whether it is ``right``; whether the question is ``answerable``."""


def fit(sets: list[Features]) -> tuple[Floats, float]:
    """Logistic regression of ``right``, every set weighing the same."""

    def loss(w: Floats) -> tuple[float, Floats]:
        value, slope = 0.0, np.zeros_like(w)
        for s in sets:
            z = s["x"] @ w[:-1] + w[-1]
            p = 1 / (1 + np.exp(-z))
            value += float(np.mean(np.logaddexp(0, z) - s["right"] * z))
            push = (p - s["right"]) / len(z)
            slope += np.r_[s["x"].T @ push, push.sum()]
        return value / len(sets) + 1e-4 * float(w[:-1] @ w[:-1]), slope / len(sets) + 2e-4 * np.r_[w[:-1], 0]

    w = minimize(loss, np.zeros(sets[0]["x"].shape[1] + 1), jac=True, method="L-BFGS-B").x
    return w[:-1], float(w[-1])


def probabilities(s: Features, w: Floats, b: float) -> Floats:
    p: Floats = 1 / (1 + np.exp(-(s["x"] @ w + b)))
    return p


def area(p: Floats, wanted: NDArray[Any]) -> float:
    """AUC: how often what is ``wanted`` has the higher probability of two, in percent; 50 where there is no choice."""
    yes, no = p[wanted], p[~wanted]
    if not len(yes) or not len(no):
        return 50.0
    return round(100 * float(np.mean([(np.mean(v > no) + 0.5 * np.mean(v == no)) for v in yes])), 2)


def summary(p: Floats, s: Features, threshold: float) -> dict[str, float]:
    """AUC of telling answerable from not, calibration error, and what the threshold does, in percent."""
    edges = np.quantile(p, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, p, "right") - 1, 0, 9)
    ece = sum(
        abs(p[bins == i].mean() - s["right"][bins == i].mean()) * np.mean(bins == i) for i in range(10) if (bins == i).any()
    )
    given = p >= threshold
    return {
        "questions": len(p),
        "auc answerable": area(p, s["answerable"]),
        "auc right": area(p, s["right"]),
        "expected calibration error": round(100 * float(ece), 2),
        "abstains, unanswerable": 0.0 if s["answerable"].all() else round(100 * float(np.mean(~given[~s["answerable"]])), 2),
        "answers, answerable": round(100 * float(np.mean(given[s["answerable"]])), 2),
        "right of answerable, all": round(100 * float(np.mean(s["right"][s["answerable"]])), 2),
        "right of given": round(100 * float(np.mean(s["right"][given])), 2),
    }


def best_threshold(sets: list[Features], w: Floats, b: float) -> float:
    """The threshold with the best mean of: answering the answerable, abstaining on the others."""
    return round(float(GRID[np.argmax(_shares(sets, w, b, "answerable"))]), 3)


def right_threshold(sets: list[Features], w: Floats, b: float) -> float:
    """The threshold with the best mean of: giving right answers, withholding the others."""
    return round(float(GRID[np.argmax(_shares(sets, w, b, "right"))]), 3)


def _shares(sets: list[Features], w: Floats, b: float, wanted: str) -> Floats:
    """For each threshold of ``GRID`` the mean of two shares: of what is ``wanted`` above it, and of the others below."""
    score = np.zeros(len(GRID))
    for s in sets:
        p = probabilities(s, w, b)
        score += [(np.mean(p[s[wanted]] >= t) + np.mean(p[~s[wanted]] < t)) / 2 for t in GRID]
    return score / len(sets)
