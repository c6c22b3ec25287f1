"""Answers to open questions against their gold answers, and the retrieval that limits what can be read."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.answers import Score, score_answer
from oreqa.evaluation.metrics import mean_metrics
from oreqa.evaluation.runs import QuestionResult
from oreqa.text.answers import match_pattern

CUTOFFS = (1, 3, 5, 10)

_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answers to a question, best first, as texts with their scores; ``before`` is the first without re-ranking.

    ``best`` is the best answer with its confidence, given or refused.
    """

    answers: Sequence[tuple[str, float]]
    before: str
    retrieved: Sequence[tuple[str, str, float]]
    """Passages that were read: name, text and score."""
    best: tuple[str, float | None] | None = None


def score_open(question: OpenQuestion, prediction: str) -> Score:
    """Exact match and F1; for a pattern, whether it matches, as both."""
    if question.pattern is not None:
        match = float(bool(prediction) and match_pattern(prediction, question.pattern))
        return Score(match, match)
    return score_answer(prediction, question.answers, version2=not question.answers)


def has_answer(text: str, question: OpenQuestion) -> bool:
    """Whether a passage holds an answer: its words one after another, without case (DPR's match), or the pattern."""
    if question.pattern is not None:
        return match_pattern(text, question.pattern, anchored=False)
    words = _words(text)
    return any(f" {' '.join(_words(answer))} " in f" {' '.join(words)} " for answer in question.answers if _words(answer))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(unicodedata.normalize("NFD", text)))


def score_predictions(questions: Sequence[OpenQuestion], predictions: Sequence[Prediction]) -> list[QuestionResult]:
    """Score every question: ``em``, ``f1``, ``em@N`` (a right one among the first N), and ``acc@N`` (an answer stands in one
    of the first N passages: the most that reading can reach) unless some question is unanswerable."""
    retrieval = all(question.is_answerable for question in questions)
    results = []
    for question, prediction in zip(questions, predictions, strict=True):
        accuracy = _accuracy(question, prediction) if retrieval else {}
        results.append(_result(question, prediction, accuracy))
    return results


def retrieval_accuracy(questions: Sequence[OpenQuestion], predictions: Sequence[Prediction]) -> dict[str, float]:
    """``acc@N`` of the questions that have an answer, in percent."""
    pairs = zip(questions, predictions, strict=True)
    return mean_metrics([_accuracy(question, prediction) for question, prediction in pairs if question.is_answerable])


def _accuracy(question: OpenQuestion, prediction: Prediction) -> dict[str, float]:
    holds = [has_answer(text, question) for _, text, _ in prediction.retrieved]
    return {f"acc@{cutoff}": float(any(holds[:cutoff])) for cutoff in CUTOFFS if cutoff <= max(len(holds), 1)}


def _result(question: OpenQuestion, prediction: Prediction, accuracy: dict[str, float]) -> QuestionResult:
    scores = [score_open(question, text) for text, _ in prediction.answers[: max(CUTOFFS)]]
    first = scores[0] if scores else Score(0.0, 0.0)
    before = score_open(question, prediction.before)
    metrics = {"em": first.em, "f1": first.f1, "em_before": before.em, "f1_before": before.f1}
    metrics |= {f"em@{cutoff}": max((score.em for score in scores[:cutoff]), default=0.0) for cutoff in CUTOFFS}
    metrics |= accuracy
    if not question.is_answerable:  # nothing to find: right if nothing was answered
        refused = float(not prediction.answers)
        metrics |= {"em": refused, "f1": refused, **{f"em@{cutoff}": refused for cutoff in CUTOFFS}}
    rank = next((place for place, score in enumerate(scores, 1) if score.em), math.inf)
    return question_result(question, prediction, metrics, rank)


def question_result(
    question: OpenQuestion, prediction: Prediction, metrics: dict[str, float], rank: float
) -> QuestionResult:
    """A question's row: its ``metrics``, the ``rank`` of what was looked for, the passages, and the first five answers."""
    return QuestionResult(
        id=question.id,
        question=question.text,
        metrics=metrics,
        ranks=[rank],
        gold=list(dict.fromkeys(question.answers or (question.pattern or "",))),
        top=[(name, score) for name, _, score in prediction.retrieved],
        texts=[text for _, text, _ in prediction.retrieved[:3]],
        answers=prediction.answers[:5],
        best=prediction.best,
    )


def reranking_analysis(results: Sequence[QuestionResult], reranked: int) -> dict[str, int]:
    """What re-ranking mended and broke, in questions, which all have an answer.

    ``mendable`` had a right answer among the first ``reranked`` but not on top; ``mended`` of them have it now, and
    ``broken`` had it on top and lost it. Re-ranking moves answers within the first ``reranked`` only, so that where a right
    one stands afterwards tells whether it was among them.
    """
    wrong = [result for result in results if not result.metrics["em_before"]]
    right = [result for result in results if result.metrics["em_before"]]
    return {
        "right_before": len(right),
        "mendable": sum(result.ranks[0] <= reranked for result in wrong),
        "mended": sum(bool(result.metrics["em"]) for result in wrong),
        "broken": sum(not result.metrics["em"] for result in right),
    }
