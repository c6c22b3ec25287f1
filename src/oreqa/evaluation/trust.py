"""The confidence of answers, judged: does it tell right answers from wrong ones, and is it a probability?

The best answer to each question is judged, even if it was refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.figures import trust_figure
from oreqa.evaluation.metrics import calibration, calibration_error, roc_area
from oreqa.evaluation.open_scores import Prediction, score_open

RIGHT_F1 = 0.5
"""The F1 from which an answer counts as right, as where the confidence was fitted: its ends may differ from the accepted."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The best answers of all questions, ``[questions]`` each: their ``confidence``, 0 where there was nothing to answer
    with, whether they are ``right``, and whether the question is ``answerable``."""

    confidence: NDArray[np.float64]
    right: NDArray[np.bool_]
    answerable: NDArray[np.bool_]


def judge(questions: Sequence[OpenQuestion], predictions: Sequence[Prediction]) -> Judged | None:
    """Judge the best answers; None if there is no answer or one without a confidence."""
    best = [prediction.best or ("", 0.0) for prediction in predictions]
    answerable = [question.is_answerable for question in questions]
    right = [
        has_answer and score_open(question, text).f1 >= RIGHT_F1
        for question, has_answer, (text, _) in zip(questions, answerable, best, strict=True)
    ]
    confidences = [confidence for _, confidence in best if confidence is not None]
    if not any(prediction.best for prediction in predictions) or len(confidences) < len(best):
        return None
    return Judged(np.array(confidences, np.float64), np.array(right), np.array(answerable))


def trust_metrics(judged: Judged) -> dict[str, float]:
    """``auc_answerable``: how often the confidence is higher for an answerable question than for an unanswerable one;
    ``auc_right``: the same for right answers and all others; ``ece``. In percent; what has only one class is left out."""
    metrics = {}
    for name, labels in (("auc_answerable", judged.answerable), ("auc_right", judged.right)):
        if 0 < labels.sum() < len(labels):
            metrics[name] = roc_area(judged.confidence, labels)
    metrics["ece"] = calibration_error(judged.confidence, judged.right)
    return {name: round(100 * value, 2) for name, value in metrics.items()}


def risk_coverage(judged: Judged) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of questions answered, from the surest answer on, and the share of wrong answers among these.

    Answers of one confidence are given together.
    """
    order = np.argsort(-judged.confidence, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(judged.confidence[order])), len(order) - 1]
    counts = ends + 1
    wrong = np.cumsum(~judged.right[order])[ends]
    return counts / len(order), wrong / counts


def trust_section(judged: Judged) -> tuple[str, str]:
    """Heading and SVG for a report."""
    title = (
        "Answers that are right (F1 of 0.5 or more) by their confidence, and wrong ones by the share of questions answered"
    )
    return title, trust_figure(calibration(judged.confidence, judged.right), *risk_coverage(judged))
