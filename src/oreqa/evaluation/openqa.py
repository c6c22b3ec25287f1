"""Open-domain question answering: answers against their gold, and the retrieval that was their ceiling."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import regex

from oreqa.core import Passage
from oreqa.datasets.answers import match_pattern
from oreqa.datasets.questions import OpenQuestion, is_question_list, load_question_list
from oreqa.datasets.reqa import load_paragraphs
from oreqa.evaluation.answers import Score, score_answer
from oreqa.evaluation.corpora import whole_passages
from oreqa.evaluation.runs import QuestionResult

CUTS = (1, 3, 5, 10)

_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


@dataclass(frozen=True, slots=True)
class Predicted:
    """What was answered, best first, as texts with their scores; ``before`` is the first answer without re-ranking."""

    answers: Sequence[tuple[str, float]]
    before: str
    retrieved: Sequence[tuple[str, str, float]]
    """Passages that were read: name, text and score."""


def load_open_questions(
    path: Path, language: str = "en", unanswerable: bool = False
) -> tuple[list[OpenQuestion], list[Passage]]:
    """Questions that have an answer, and the paragraph of each: of a SQuAD or MRQA file, or of a question list, without.

    With ``unanswerable`` those that SQuAD 2.0 says cannot be answered from their paragraph are kept, without answers.
    Raises InputError that names the row of a mistake.
    """
    if is_question_list(path):
        return load_question_list(path), []
    asked, own = [], []
    paragraphs = load_paragraphs(path)
    for paragraph, passage in zip(paragraphs, whole_passages(paragraphs, language), strict=True):
        for question in paragraph.questions:
            if question.answers or unanswerable:
                asked.append(OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers)))
                own.append(passage)
    return asked, own


def score_open(question: OpenQuestion, prediction: str) -> Score:
    """Exact match and F1; for a pattern, whether it matches, as both."""
    if question.pattern is not None:
        hit = float(bool(prediction) and match_pattern(prediction, question.pattern))
        return Score(hit, hit)
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


def evaluate_open(questions: Sequence[OpenQuestion], predictions: Sequence[Predicted]) -> list[QuestionResult]:
    """Score every question: ``em``, ``f1``, ``em@N`` (a right one among the first N), ``acc@N`` (the ceiling of reading)."""
    results = []
    for question, predicted in zip(questions, predictions, strict=True):
        scores = [score_open(question, text) for text, _ in predicted.answers[: max(CUTS)]]
        first = scores[0] if scores else Score(0.0, 0.0)
        before = score_open(question, predicted.before)
        holds = [has_answer(text, question) for _, text, _ in predicted.retrieved]
        metrics = {"em": first.em, "f1": first.f1, "em_before": before.em, "f1_before": before.f1}
        metrics |= {f"em@{cut}": max((score.em for score in scores[:cut]), default=0.0) for cut in CUTS}
        metrics |= {f"acc@{cut}": float(any(holds[:cut])) for cut in CUTS if cut <= max(len(holds), 1)}
        if not question.answers and question.pattern is None:  # nothing to find: right if nothing was answered
            none = float(not predicted.answers)
            metrics |= {"em": none, "f1": none, **{f"em@{cut}": none for cut in CUTS}}
        rank = next((place for place, score in enumerate(scores, 1) if score.em), math.inf)
        texts = {name: text for name, text, _ in predicted.retrieved[:3]}
        gold = question.answers or (question.pattern or "",)
        results.append(
            QuestionResult(
                question.id, question.text, metrics, [rank], list(dict.fromkeys(gold)),
                [(name, score) for name, _, score in predicted.retrieved], texts, predicted.answers[:5],
            )
        )  # fmt: skip
    return results


def reranking_analysis(results: Sequence[QuestionResult], reranked: int) -> dict[str, int]:
    """What re-ranking mended and broke, in questions.

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
