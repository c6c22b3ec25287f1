"""How well a classifier tells answers from other sentences, beside guessing and beside the dual encoder's cosine.

Yang et al. 2021, Table 2, reports accuracy and the area under the precision-recall curve of the same three.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oreqa.datasets.pairs import GOLD, Candidate, Pair
from oreqa.errors import InputError
from oreqa.evaluation.metrics import gold_ranks
from oreqa.evaluation.runs import QuestionResult
from oreqa.models.encoder.encoder import Encoder

Scores = NDArray[np.floating]
Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with candidates, of which ``right`` says whether they answer it."""

    question: str
    candidates: tuple[Candidate, ...]
    right: tuple[bool, ...]


def judged(pairs: Sequence[Pair]) -> list[Judged]:
    """The gold pairs of a file and their negatives, question by question; each candidate once."""
    found: dict[str, dict[Candidate, bool]] = {}
    for pair in pairs:
        if pair.source == GOLD:
            own = found.setdefault(pair.question, {})
            own[pair.positive] = True
            for negative in pair.negatives:
                own.setdefault(negative, False)
    rows = [Judged(question, tuple(own), tuple(own.values())) for question, own in found.items()]
    if all(all(row.right) for row in rows):
        raise InputError("there are no negatives to tell answers from; make such pairs with: oreqa mine negatives")
    return rows


def cosines(encoder: Encoder, rows: Sequence[Judged]) -> Scores:
    """The cosine of every question and candidate sentence, in order."""
    questions = encoder.encode([row.question for row in rows])
    sentences = sorted({candidate.answer for row in rows for candidate in row.candidates})
    places = {sentence: place for place, sentence in enumerate(sentences)}
    vectors = encoder.encode(sentences)
    found = [questions[q] @ vectors[places[c.answer]] for q, row in enumerate(rows) for c in row.candidates]
    return np.array(found, np.float64)


def judge(rows: Sequence[Judged], probabilities: Scores, rival: Scores) -> dict[str, float]:
    """Metrics in percent: ``acc`` at p = 0.5, ``auc_pr``, ``ece``; and ``majority_acc``, ``cosine_acc``, ``cosine_auc_pr``.

    The cosine's threshold for one half of the questions is the one that is best on the other half.
    """
    labels = np.array([right for row in rows for right in row.right])
    side = np.array([_half(row.question) for row in rows for _ in row.right])
    hits = np.zeros(len(labels), bool)
    for half in (False, True):
        own, other = side == half, side != half
        if own.any():
            threshold = best_threshold(rival[other], labels[other]) if other.any() else best_threshold(rival, labels)
            hits[own] = (rival[own] >= threshold) == labels[own]
    values = {
        "acc": np.mean((probabilities >= 0.5) == labels),
        "auc_pr": average_precision(probabilities, labels),
        "ece": calibration_error(probabilities, labels),
        "majority_acc": max(np.mean(labels), 1 - np.mean(labels)),
        "cosine_acc": np.mean(hits),
        "cosine_auc_pr": average_precision(rival, labels),
    }
    return {name: round(100 * float(value), 2) for name, value in values.items()}


def question_results(rows: Sequence[Judged], logits: Sequence[Scores]) -> list[QuestionResult]:
    """Each question's share of candidates told right, and the ranks of its answers among its candidates."""
    results = []
    for number, (row, own) in enumerate(zip(rows, logits, strict=True)):
        gold = [place for place, right in enumerate(row.right) if right]
        order = np.argsort(-own, kind="stable")
        results.append(
            QuestionResult(
                str(number), row.question, {"acc": float(np.mean((own >= 0) == np.array(row.right)))},
                gold_ranks(own, gold), [str(place) for place in gold], [(str(i), float(own[i])) for i in order],
                {str(i): row.candidates[i].answer for i in order[:3]},
            )
        )  # fmt: skip
    return results


def average_precision(scores: Scores, labels: Labels) -> float:
    """Area under the precision-recall curve as the sum of precision times the gain in recall; ties count as one step."""
    if not labels.any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(scores[order])), len(order) - 1]
    right = np.cumsum(labels[order])[ends]
    precision = right / (ends + 1)
    return float(np.sum(precision * np.diff(np.r_[0, right])) / right[-1])


def best_threshold(scores: Scores, labels: Labels) -> float:
    """The threshold of the highest accuracy; scores of at least it are taken for right."""
    order = np.argsort(-scores, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(scores[order])), len(order) - 1]
    right = np.cumsum(labels[order])[ends]
    correct = np.r_[np.count_nonzero(~labels), right + np.count_nonzero(~labels) - (ends + 1 - right)]
    best = int(np.argmax(correct))
    return float("inf") if best == 0 else float(scores[order][ends[best - 1]])


def calibration_error(probabilities: Scores, labels: Labels, bins: int = 10) -> float:
    """Expected calibration error over ``bins`` of equal width."""
    return float(sum(row["share"] * abs(row["said"] - row["right"]) for row in calibration(probabilities, labels, bins)))


def calibration(probabilities: Scores, labels: Labels, bins: int = 10) -> list[Mapping[str, float]]:
    """For every bin that is not empty its share of all, the mean probability said, and the share that is right."""
    rows: list[Mapping[str, float]] = []
    number = np.minimum((probabilities * bins).astype(int), bins - 1)
    for one in np.unique(number):
        own = number == one
        rows.append(
            {"share": float(own.mean()), "said": float(probabilities[own].mean()), "right": float(labels[own].mean())}
        )
    return rows


def _half(question: str) -> bool:
    return hashlib.sha1(question.encode()).digest()[0] % 2 == 0
