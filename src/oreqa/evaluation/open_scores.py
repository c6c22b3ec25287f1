"""Scores answers to open questions against accepted ones, the retrieval that limits them, and refusals.

A question without an accepted answer is unanswerable: refusing it is right. For questions asked like ``oreqa ask``,
``em``, ``f1`` and ``right`` count it so, as in SQuAD 2.0; ``answerable_*`` and ``acc@5`` cover only the other questions.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

import numpy as np
import regex

from oreqa.corpus.readers import is_supported
from oreqa.datasets.questions import OpenQuestion
from oreqa.errors import InputError
from oreqa.evaluation.answers import Score, score_answer
from oreqa.evaluation.metrics import mean_metrics
from oreqa.evaluation.runs import QuestionResult
from oreqa.text.answers import match_pattern, normalize_answer

ANSWER_CUTOFFS = (1, 3, 5, 10, 25)

JUDGED_PASSAGES = 5
"""Passages in which the right one is looked for."""

MOST_WORDS = 3
"""An answer that contains an accepted one has at most this many times its words."""

_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answers to a question, best first, as texts with their scores; ``before`` is the first without re-ranking.

    ``best`` is the best answer with its confidence, given or refused.
    """

    answers: Sequence[tuple[str, float]]
    before: str
    retrieved: Sequence[tuple[str, str, float]]
    """Passages read: name, text and score."""
    best: tuple[str, float | None] | None = None


def score_open(question: OpenQuestion, prediction: str) -> Score:
    """Return exact match and F1; for a pattern, whether it matches, as both."""
    if question.pattern is not None:
        match = float(bool(prediction) and match_pattern(prediction, question.pattern))
        return Score(match, match)
    return score_answer(prediction, question.answers, version2=not question.answers)


def has_answer(text: str, question: OpenQuestion) -> bool:
    """Return whether a passage contains an answer: its consecutive words, ignoring case (DPR's match), or the pattern."""
    if question.pattern is not None:
        return match_pattern(text, question.pattern, anchored=False)
    words = _words(text)
    return any(f" {' '.join(_words(answer))} " in f" {' '.join(words)} " for answer in question.answers if _words(answer))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(unicodedata.normalize("NFD", text)))


def score_predictions(questions: Sequence[OpenQuestion], predictions: Sequence[Prediction]) -> list[QuestionResult]:
    """Score every question:

    ``em``, ``f1``, ``em@N`` (a right one among the first N), and ``acc@N`` unless some are unanswerable.

    ``acc@N``: one of the first N passages contains an answer, the upper bound of reading.
    """
    retrieval = all(question.is_answerable for question in questions)
    results = []
    for question, prediction in zip(questions, predictions, strict=True):
        accuracy = _accuracy(question, prediction) if retrieval else {}
        results.append(_result(question, prediction, accuracy))
    return results


def retrieval_accuracy(questions: Sequence[OpenQuestion], predictions: Sequence[Prediction]) -> dict[str, float]:
    """Return ``acc@N`` of the answerable questions, in percent."""
    pairs = zip(questions, predictions, strict=True)
    return mean_metrics([_accuracy(question, prediction) for question, prediction in pairs if question.is_answerable])


def _accuracy(question: OpenQuestion, prediction: Prediction) -> dict[str, float]:
    contains_answer = [has_answer(text, question) for _, text, _ in prediction.retrieved]
    return {
        f"acc@{cutoff}": float(any(contains_answer[:cutoff]))
        for cutoff in ANSWER_CUTOFFS
        if cutoff <= max(len(contains_answer), 1)
    }


def _result(question: OpenQuestion, prediction: Prediction, accuracy: dict[str, float]) -> QuestionResult:
    scores = [score_open(question, text) for text, _ in prediction.answers[: max(ANSWER_CUTOFFS)]]
    first = scores[0] if scores else Score(0.0, 0.0)
    before = score_open(question, prediction.before)
    metrics = {"em": first.em, "f1": first.f1, "em_before": before.em, "f1_before": before.f1}
    metrics |= {f"em@{cutoff}": max((score.em for score in scores[:cutoff]), default=0.0) for cutoff in ANSWER_CUTOFFS}
    metrics |= accuracy
    if not question.is_answerable:  # nothing to find: right if nothing was answered
        refused = float(not prediction.answers)
        metrics |= {"em": refused, "f1": refused, **{f"em@{cutoff}": refused for cutoff in ANSWER_CUTOFFS}}
    rank = next((place for place, score in enumerate(scores, 1) if score.em), math.inf)
    return question_result(question, prediction, metrics, rank)


def question_result(
    question: OpenQuestion, prediction: Prediction, metrics: dict[str, float], rank: float
) -> QuestionResult:
    """Return a question's row: its ``metrics``, the ``rank`` of the first right answer or passage, and the best of both."""
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
    """Count the questions, all with an answer, that re-ranking fixed and broke.

    ``mendable`` had a right answer among the first ``reranked`` but not on top; ``mended`` of them have it now, and
    ``broken`` had it on top and lost it. Re-ranking moves answers only within the first ``reranked``, so that the
    position of a right one afterwards tells whether it was among them.
    """
    wrong = [result for result in results if not result.metrics["em_before"]]
    right = [result for result in results if result.metrics["em_before"]]
    return {
        "right_before": len(right),
        "mendable": sum(result.ranks[0] <= reranked for result in wrong),
        "mended": sum(bool(result.metrics["em"]) for result in wrong),
        "broken": sum(not result.metrics["em"] for result in right),
    }


def expect_refusals(questions: Sequence[OpenQuestion]) -> bool:
    """Return whether the questions say what should be refused, or which document contains the answer."""
    return any(not question.is_answerable or question.document for question in questions)


def is_right(answer: str, question: OpenQuestion) -> bool:
    """Return whether an answer equals an accepted one, or contains one and has at most ``MOST_WORDS`` times as many words.

    Both are normalised like in SQuAD's scripts, which leave nothing of ``!``: such an answer is right unnormalised. For a
    pattern, whether it matches.
    """
    if question.pattern is not None:
        return bool(score_open(question, answer).em)
    if answer.strip() and answer.strip() in map(str.strip, question.answers):
        return True
    words = normalize_answer(answer).split()
    accepted = [normalize_answer(text).split() for text in question.answers]
    return any(
        gold and len(words) <= MOST_WORDS * len(gold) and f" {' '.join(gold)} " in f" {' '.join(words)} "
        for gold in accepted
    )


def is_document(name: str, document: str) -> bool:
    """Return whether the name of a document, or of a row's table, ends in the path or matches the pattern."""
    table = name.rpartition("#")[0]
    paths = [f"/{name}", f"/{table}"] if is_supported(Path(table)) else [f"/{name}"]
    return any(path.endswith(f"/{document}") or fnmatchcase(path, document) for path in paths)


def check_documents(questions: Sequence[OpenQuestion], names: Iterable[str], data: Path) -> None:
    """Raise InputError, with the first question, if a document with an answer is not among the indexed ``names``."""
    indexed = set(names)
    wanted = {question.document: question.id for question in reversed(questions) if question.document}
    for document in reversed(wanted):
        if not any(is_document(name, document) for name in indexed):
            raise InputError(
                f"{data}: question {wanted[document]} names the document {document}, which is not indexed: index it, "
                "or leave the question out"
            )


def score_replies(questions: Sequence[OpenQuestion], predictions: Sequence[Prediction]) -> list[QuestionResult]:
    """Score every question: ``em``, ``f1``, ``right`` (1 for a refusal of an unanswerable one) and ``refused``.

    The rank is that of the first passage of the question's document that contains an accepted answer.
    """
    results = []
    for question, prediction in zip(questions, predictions, strict=True):
        refused = not prediction.answers
        if refused or not question.is_answerable:
            right = refused and not question.is_answerable
            score = Score(float(right), float(right))
        else:
            first = prediction.answers[0][0]
            score, right = score_open(question, first), is_right(first, question)
        metrics = {"em": score.em, "f1": score.f1, "right": float(right), "refused": float(refused)}
        results.append(question_result(question, prediction, metrics, passage_rank(question, prediction)))
    return results


def passage_rank(question: OpenQuestion, prediction: Prediction) -> float:
    """Return the rank, from 1, of the first passage with an accepted answer in the right document; infinite if none."""
    for rank, (name, text, _) in enumerate(prediction.retrieved, 1):
        if has_answer(text, question) and (question.document is None or is_document(name, question.document)):
            return rank
    return math.inf


def refusal_metrics(questions: Sequence[OpenQuestion], results: Sequence[QuestionResult]) -> dict[str, float]:
    """Return the numbers of questions, and metrics in percent; those over no questions are omitted.

    ``answerable_em``, ``answerable_f1`` and ``answerable_right`` are of the first answer, ``acc@5`` of the first five
    passages. ``precision`` is the share of right answers among all answers, including those to unanswerable questions.
    """
    pairs = list(zip(questions, results, strict=True))
    answerable = [result for question, result in pairs if question.is_answerable]
    unanswerable = [result for question, result in pairs if not question.is_answerable]
    answered = [result for result in results if not result.metrics["refused"]]
    values = {f"answerable_{name}": [result.metrics[name] for result in answerable] for name in ("em", "f1", "right")}
    values[f"acc@{JUDGED_PASSAGES}"] = [float(result.ranks[0] <= JUDGED_PASSAGES) for result in answerable]
    values["refused_unanswerable"] = [result.metrics["refused"] for result in unanswerable]
    values["refused_answerable"] = [result.metrics["refused"] for result in answerable]
    values["precision"] = [result.metrics["right"] for result in answered]
    shares = {name: round(100 * float(np.mean(metric_values)), 2) for name, metric_values in values.items() if metric_values}
    return {"answerable": len(answerable), "unanswerable": len(unanswerable), **shares}


def grouped_metrics(
    questions: Sequence[OpenQuestion], results: Sequence[QuestionResult]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the same by collection and by kind, for questions that name them."""
    groups: dict[str, dict[str, dict[str, float]]] = {}
    for label, names in (
        ("collection", [question.collection for question in questions]),
        ("kind", [question.kind for question in questions]),
    ):
        for group in sorted({name for name in names if name is not None}):
            places = [place for place, name in enumerate(names) if name == group]
            metrics = refusal_metrics([questions[place] for place in places], [results[place] for place in places])
            groups.setdefault(label, {})[group] = metrics
    return groups
