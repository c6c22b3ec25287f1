"""Questions asked of a user's own documents as ``oreqa ask`` answers them: right answers, passages, and refusals.

A question without an accepted answer is unanswerable: to refuse it is right. ``em``, ``f1`` and ``right`` count it so, as
SQuAD 2.0 does; ``answerable_*`` and ``acc@5`` are of the other questions alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from oreqa.corpus.readers import is_supported
from oreqa.datasets.questions import OpenQuestion
from oreqa.errors import InputError
from oreqa.evaluation.answers import Score
from oreqa.evaluation.open_scores import Prediction, has_answer, question_result, score_open
from oreqa.evaluation.runs import QuestionResult
from oreqa.text.answers import normalize_answer

DEPTH = 5
"""Passages in which the right one is looked for."""

LONGEST = 3
"""How many times as many words as the accepted answer an answer that holds it may have."""


def expect_refusals(questions: Sequence[OpenQuestion]) -> bool:
    """Whether the questions tell what should be refused, or which document holds the answer."""
    return any(not question.is_answerable or question.document for question in questions)


def is_right(answer: str, question: OpenQuestion) -> bool:
    """Whether an answer equals an accepted one, or holds one and has at most ``LONGEST`` times as many words.

    Both are normalised as SQuAD's scripts do, which leave nothing of ``!``: such an answer is right as it is. Of a pattern,
    whether it matches.
    """
    if question.pattern is not None:
        return bool(score_open(question, answer).em)
    if answer.strip() and answer.strip() in map(str.strip, question.answers):
        return True
    words = normalize_answer(answer).split()
    accepted = [normalize_answer(text).split() for text in question.answers]
    return any(
        gold and len(words) <= LONGEST * len(gold) and f" {' '.join(gold)} " in f" {' '.join(words)} " for gold in accepted
    )


def is_document(name: str, document: str) -> bool:
    """Whether a document's name, or that of the table that a row stands in, ends in the path or matches the pattern."""
    table = name.rpartition("#")[0]
    paths = [f"/{name}", f"/{table}"] if is_supported(Path(table)) else [f"/{name}"]
    return any(path.endswith(f"/{document}") or fnmatchcase(path, document) for path in paths)


def check_documents(questions: Sequence[OpenQuestion], names: Iterable[str], data: Path) -> None:
    """Raise InputError, with the first question, if a document that holds an answer is not among the indexed ``names``."""
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

    The rank is that of the first passage of the question's document that holds an accepted answer.
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
    """The rank, from 1, of the first passage that holds an accepted answer in the right document; infinite without one."""
    for rank, (name, text, _) in enumerate(prediction.retrieved, 1):
        if has_answer(text, question) and (question.document is None or is_document(name, question.document)):
            return rank
    return math.inf


def refusal_metrics(questions: Sequence[OpenQuestion], results: Sequence[QuestionResult]) -> dict[str, float]:
    """The numbers of questions, and metrics in percent; those of no question at all are left out.

    ``answerable_em``, ``answerable_f1`` and ``answerable_right`` are of the first answer, ``acc@5`` of the first five
    passages. ``precision`` is the share of right answers among all answers, those to unanswerable questions too.
    """
    pairs = list(zip(questions, results, strict=True))
    answerable = [result for question, result in pairs if question.is_answerable]
    unanswerable = [result for question, result in pairs if not question.is_answerable]
    answered = [result for result in results if not result.metrics["refused"]]
    values = {f"answerable_{name}": [result.metrics[name] for result in answerable] for name in ("em", "f1", "right")}
    values[f"acc@{DEPTH}"] = [float(result.ranks[0] <= DEPTH) for result in answerable]
    values["refused_unanswerable"] = [result.metrics["refused"] for result in unanswerable]
    values["refused_answerable"] = [result.metrics["refused"] for result in answerable]
    values["precision"] = [result.metrics["right"] for result in answered]
    shares = {name: round(100 * float(np.mean(of_metric)), 2) for name, of_metric in values.items() if of_metric}
    return {"answerable": len(answerable), "unanswerable": len(unanswerable), **shares}


def grouped_metrics(
    questions: Sequence[OpenQuestion], results: Sequence[QuestionResult]
) -> dict[str, dict[str, dict[str, float]]]:
    """The same by collection and by kind, where the questions name them."""
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
