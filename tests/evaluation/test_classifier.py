from __future__ import annotations

import hashlib

import numpy as np
import pytest

from oreqa.datasets.pairs import Candidate, Pair
from oreqa.errors import InputError
from oreqa.evaluation.classifier import classification_metrics, labelled_questions, question_results
from oreqa.evaluation.metrics import average_precision, best_threshold, calibration, calibration_error

A, B, C = (Candidate(text, text) for text in ("a", "b", "c"))


def test_average_precision_is_that_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for size in (1, 2, 10, 200):
        for _ in range(20):
            labels = rng.random(size) < 0.3
            scores = rng.integers(0, 8, size) / 4  # with ties
            if labels.any():
                assert average_precision(scores, labels) == pytest.approx(sklearn.average_precision_score(labels, scores))
    assert average_precision(np.zeros(3), np.zeros(3, bool)) == 0


def test_the_best_threshold_is_that_of_trying_all() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 9, 40):
        for _ in range(20):
            labels, scores = rng.random(size) < 0.4, rng.integers(0, 6, size).astype(float)
            tried = [np.mean((scores >= t) == labels) for t in (*scores, np.inf)]
            assert np.mean((scores >= best_threshold(scores, labels)) == labels) == max(tried)


def test_calibration() -> None:
    p, labels = np.array([0.05, 0.05, 0.95, 1.0]), np.array([False, True, True, True])
    rows = calibration(p, labels)
    assert [(row.share, row.accuracy) for row in rows] == [(0.5, 0.5), (0.5, 1.0)]
    assert calibration_error(p, labels) == pytest.approx(0.5 * 0.45 + 0.5 * 0.025)


def test_each_candidate_has_one_label() -> None:
    rows = labelled_questions([
        Pair("q", A, negatives=(B, C)), Pair("q", B, negatives=(C,)), Pair("r", C), Pair("q", C, 0.7, "silver", 0.7),
    ])  # fmt: skip
    assert [(row.question, row.candidates, row.labels) for row in rows] == [
        ("q", (A, B, C), (True, True, False)),
        ("r", (C,), (True,)),
    ]
    with pytest.raises(InputError, match="no negatives"):
        labelled_questions([Pair("q", A)])


def test_the_cosines_threshold_is_fitted_on_the_other_half() -> None:
    halves: dict[bool, list[str]] = {True: [], False: []}
    for number in range(200):
        halves[hashlib.sha1(f"q{number}".encode()).digest()[0] % 2 == 0].append(f"q{number}")
    # In each half a threshold tells right from wrong; the other half's takes all for right, or all for wrong.
    chosen = [*halves[True][:20], *halves[False][:20]]
    rows = labelled_questions([Pair(question, A, negatives=(B, C)) for question in chosen])
    cosine = np.array([2.0, 1.0, 1.0] * 20 + [0.5, 0.1, 0.1] * 20)
    assert classification_metrics(rows, np.zeros(120), cosine)["cosine_acc"] == pytest.approx(100 * (20 * 1 + 20 * 2) / 120)
    same = np.array([2.0, 1.0, 1.0] * 40)
    assert classification_metrics(rows, np.zeros(120), same)["cosine_acc"] == 100
    lone = labelled_questions([Pair(halves[True][0], A, negatives=(B, C))])  # no other half to fit it on
    assert classification_metrics(lone, np.zeros(3), np.array([2.0, 1.0, 1.0]))["cosine_acc"] == 100


def test_a_perfect_classifier_beside_a_useless_cosine() -> None:
    rows = labelled_questions([Pair(f"q{n}", A, negatives=(B, C)) for n in range(40)])
    p = np.array([0.9, 0.1, 0.2] * 40)
    figures = classification_metrics(rows, p, np.zeros(120))
    assert figures["acc"] == figures["auc_pr"] == 100
    assert figures["majority_acc"] == figures["cosine_acc"] == pytest.approx(66.67)
    assert figures["cosine_auc_pr"] == pytest.approx(33.33)
    results = question_results(rows, [np.array([2.0, 3.0, -1.0])] * 40)
    assert results[0].ranks == [2]
    assert results[0].metrics["acc"] == pytest.approx(2 / 3)
