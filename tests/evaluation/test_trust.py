"""What the confidence of answers is worth."""

import itertools
import random

import numpy as np
import pytest

from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.metrics import roc_area
from oreqa.evaluation.open_scores import Prediction
from oreqa.evaluation.trust import Judged, judge, risk_coverage, trust_metrics, trust_section

HEARTS = OpenQuestion("1", "How many hearts?", ("three hearts",))
NOTHING = OpenQuestion("2", "Who won?", ())
YEAR = OpenQuestion("3", "When?", (), pattern=r"19\d\d")


def predicted(text: str, confidence: float | None) -> Prediction:
    return Prediction([], "", [], (text, confidence))


def judged(confidence: list[float], right: list[bool], answerable: list[bool]) -> Judged:
    return Judged(np.array(confidence), np.array(right), np.array(answerable))


def test_refused_answers_are_judged_and_missing_ones_have_no_confidence() -> None:
    questions = [HEARTS, HEARTS, NOTHING, YEAR, HEARTS]
    best = [predicted("three", 0.5), predicted("two", 0.25), predicted("three", 0.125), predicted("1914", 0.0625)]
    result = judge(questions, [*best, Prediction([], "", [])])
    assert result is not None
    assert result.confidence.tolist() == [0.5, 0.25, 0.125, 0.0625, 0.0]
    assert result.right.tolist() == [True, False, False, True, False]  # "three" has an F1 of two thirds
    assert result.answerable.tolist() == [True, True, False, True, True]


def test_models_without_calibration_are_not_judged() -> None:
    assert judge([HEARTS, NOTHING], [predicted("three", 0.5), predicted("three", None)]) is None
    assert judge([], []) is None
    assert judge([HEARTS, NOTHING], [Prediction([], "", [])] * 2) is None


def test_the_area_is_that_of_all_pairs() -> None:
    draw = random.Random(0)
    for size in [*range(1, 12)] * 20:
        scores = np.array([draw.choice((0.1, 0.2, 0.5, 0.9)) for _ in range(size)])
        labels = np.array([draw.random() < 0.5 for _ in range(size)])
        pairs = list(itertools.product(scores[labels], scores[~labels]))
        obvious = sum((true > false) + 0.5 * (true == false) for true, false in pairs) / len(pairs) if pairs else 0.5
        assert roc_area(scores, labels) == pytest.approx(obvious)


def test_what_has_one_class_has_no_area() -> None:
    metrics = trust_metrics(judged([0.75, 0.25], [True, False], [True, True]))
    assert metrics == {"auc_right": 100.0, "ece": 25.0}
    assert trust_metrics(judged([0.5], [False], [False])) == {"ece": 50.0}


def test_risk_is_that_of_an_obvious_version() -> None:
    draw = random.Random(1)
    confidence = [draw.choice((0.1, 0.4, 0.4, 0.7)) for _ in range(30)]
    right = [draw.random() < 0.5 for _ in confidence]
    rows = list(zip(confidence, right, strict=True))
    coverage, risk = risk_coverage(judged(confidence, right, [True] * 30))
    thresholds = sorted(set(confidence), reverse=True)
    given = [[correct for value, correct in rows if value >= threshold] for threshold in thresholds]
    assert coverage == pytest.approx([len(part) / 30 for part in given])
    assert risk == pytest.approx([part.count(False) / len(part) for part in given])


def test_the_report_draws_both() -> None:
    title, svg = trust_section(judged([0.75, 0.25], [True, False], [True, True]))
    assert "confidence" in title
    assert svg.startswith("<svg")
    assert all(f"<!-- {label} -->" in svg for label in ("confidence, %", "wrong answers among them, %"))
