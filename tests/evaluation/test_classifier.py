from __future__ import annotations

import hashlib

import numpy as np
import pytest

from oreqa.datasets.pairs import Candidate, Pair
from oreqa.errors import InputError
from oreqa.evaluation.classifier import classification_metrics, labelled_questions, question_results

A, B, C = (Candidate(text, text) for text in ("a", "b", "c"))


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
