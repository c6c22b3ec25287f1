from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from oreqa.fitting.calibrating import (
    PENALTY,
    PRIOR,
    THRESHOLDS,
    JudgedAnswers,
    answerable_threshold,
    calibration_summary,
    fit_calibration,
    fit_logistic,
    probabilities,
    right_threshold,
)


def drawn(seed: int, count: int = 400, offset: float = 0.0) -> JudgedAnswers:
    """Features of very different scale, as inner products and BM25 shares are, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    x = np.c_[rng.normal(80 + offset, 5, count), rng.normal(0, 0.1, count), np.full(count, -0.7)]
    right = rng.random(count) < 1 / (1 + np.exp(-(0.3 * (x[:, 0] - 80) + 8 * x[:, 1] - 0.5)))
    return JudgedAnswers(x, right, right | (rng.random(count) < 0.3))


def slow_loss(parameters: np.ndarray, sets: list[JudgedAnswers]) -> float:
    """The definition, answer by answer."""
    total = 0.0
    for answers in sets:
        logits = [sum(w * v for w, v in zip(parameters, row, strict=False)) + parameters[-1] for row in answers.x.tolist()]
        total += sum(
            math.log1p(math.exp(-abs(z))) + max(z, 0) - z * right for z, right in zip(logits, answers.right, strict=True)
        ) / len(logits)
    deviations = np.concatenate([answers.x for answers in sets]).std(0)
    answers = sum(len(each.x) for each in sets)
    penalties = (w * w * (PENALTY + PRIOR * d * d / answers) for w, d in zip(parameters, deviations, strict=False))
    return float(total / len(sets) + sum(penalties))


def test_the_regression_is_the_least_of_its_loss() -> None:
    sets = [drawn(0, 60), drawn(1, 30, offset=3.0)]
    weights, bias = fit_logistic(sets)
    fitted = np.r_[weights, bias]
    slow = minimize(slow_loss, fitted + 0.01, args=(sets,), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 20000, "maxfev": 20000})  # fmt: skip
    assert slow_loss(fitted, sets) <= slow.fun + 1e-8
    assert weights[2] == 0  # the same for every answer
    for part in range(len(fitted)):
        for step in (-1e-3, 1e-3):
            moved = fitted.copy()
            moved[part] += step
            assert slow_loss(moved, sets) >= slow_loss(fitted, sets)


def test_it_is_scikit_learns() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    answers = drawn(3)
    x = (answers.x[:, :2] - answers.x[:, :2].mean(0)) / answers.x[:, :2].std(0)
    weights, bias = fit_logistic([JudgedAnswers(x, answers.right, answers.answerable)])
    theirs = linear_model.LogisticRegression(C=1 / (2 * PENALTY * len(x) + 2 * PRIOR), tol=1e-10, max_iter=100_000)
    theirs.fit(x, answers.right)
    assert weights == pytest.approx(theirs.coef_[0], rel=1e-4)
    assert bias == pytest.approx(theirs.intercept_[0], rel=1e-4)


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("count", [1, 5])
def test_answers_that_are_all_right_or_all_wrong_give_their_share(right: bool, count: int) -> None:
    answers = JudgedAnswers(np.ones((count, 2)) * np.arange(count)[:, None], np.full(count, right), np.full(count, right))
    weights, bias = fit_logistic([answers])
    assert weights.tolist() == [0, 0]
    share = (count + 1) / (count + 2)
    assert probabilities(answers, weights, bias) == pytest.approx(np.full(count, share if right else 1 - share))
    calibration = fit_calibration(["a", "b"], [answers])
    assert (calibration.probability({"a": 3, "b": 4}) >= calibration.threshold) == right
    summary = calibration_summary(probabilities(answers, weights, bias), answers, 0.5)
    assert summary["auc right"] == 50
    assert all(math.isfinite(value) for value in summary.values())


def test_equal_answers_of_both_kinds_are_worth_their_share() -> None:
    answers = JudgedAnswers(np.ones((4, 1)), np.array([True, True, True, False]), np.ones(4, bool))
    weights, bias = fit_logistic([answers])
    assert weights.tolist() == [0]
    assert probabilities(answers, weights, bias) == pytest.approx(np.full(4, 0.75), abs=1e-6)


def test_thresholds_are_the_best_of_the_grid() -> None:
    sets = [drawn(0), drawn(1, 100)]
    weights, bias = fit_logistic(sets)

    def worth(threshold: float, wanted: str) -> float:
        shares = []
        for answers in sets:
            p, flags = probabilities(answers, weights, bias), getattr(answers, wanted)
            above = np.mean([value >= threshold for value, flag in zip(p, flags, strict=True) if flag])
            below = np.mean([value < threshold for value, flag in zip(p, flags, strict=True) if not flag])
            shares.append((above + below) / 2)
        return float(np.mean(shares))

    for wanted, threshold in (
        ("right", right_threshold(sets, weights, bias)),
        ("answerable", answerable_threshold(sets, weights, bias)),
    ):
        assert worth(threshold, wanted) == pytest.approx(max(worth(value, wanted) for value in THRESHOLDS))


def test_a_calibration_names_its_features() -> None:
    answers = drawn(5)
    calibration = fit_calibration(["cosine", "share", "constant"], [answers])
    weights, bias = fit_logistic([answers])
    p = probabilities(answers, weights, bias)
    row = dict(zip(["cosine", "share", "constant"], answers.x[0].tolist(), strict=True))
    assert calibration.probability(row) == pytest.approx(p[0], abs=0.02)  # its weights are rounded
    assert calibration.threshold == right_threshold([answers], weights, bias)


def test_a_summary_of_perfect_probabilities() -> None:
    right = np.array([True] * 5 + [False] * 5)
    answers = JudgedAnswers(np.zeros((10, 1)), right, right)
    summary = calibration_summary(right.astype(float), answers, 0.5)
    assert summary["auc answerable"] == summary["auc right"] == summary["right of given"] == 100
    assert summary["expected calibration error"] == 0


def test_the_calibration_error_is_that_of_bins_of_equal_width() -> None:
    right = np.array([True, False])
    summary = calibration_summary(np.array([0.91, 0.99]), JudgedAnswers(np.zeros((2, 1)), right, right), 0.5)
    assert summary["expected calibration error"] == 45  # both of one bin: 0.95 sure, and half of them right
