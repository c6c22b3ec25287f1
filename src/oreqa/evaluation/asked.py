"""Questions asked of a user's own documents as `oreqa ask` asks them: right answers, passages, and refusals.

A question without an accepted answer is unanswerable: to refuse it is right. ``em``, ``f1`` and ``right`` count it so, as
SQuAD 2.0 does; ``answerable_*`` and ``acc@5`` are of the other questions alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.core import Answer, Hit
from oreqa.datasets.answers import normalize_answer
from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.answers import Score
from oreqa.evaluation.openqa import Predicted, has_answer, score_open
from oreqa.evaluation.runs import QuestionResult
from oreqa.files import resume_rows

DEPTH = 5
"""Passages in which the right one is looked for."""

LONGEST = 3
"""How many times as many words as the accepted answer an answer that holds it may have."""

_CHUNK = 8


def as_users_ask(questions: Sequence[OpenQuestion]) -> bool:
    """Whether the questions tell what should be refused, or which document holds the answer."""
    return any(not is_answerable(question) or question.document for question in questions)


def is_answerable(question: OpenQuestion) -> bool:
    return bool(question.answers) or question.pattern is not None


def ask_questions(
    questions: Sequence[OpenQuestion],
    ask: Callable[[Sequence[str]], Sequence[tuple[Sequence[Answer], Sequence[Hit]]]],
    partial: Path,
    stamp: str,
    progress: Callable[[int], None],
) -> list[Predicted]:
    """The answers to each question, none if it is refused, and the passages that they come from, best first.

    They are kept in the file ``partial`` as they come: an interrupted run with the same ``stamp`` goes on from there.
    """
    texts = [question.text for question in questions]

    def answer(begin: int, end: int) -> list[dict[str, Any]]:
        return [
            {
                "answers": [[answer.text, answer.score] for answer in answers],
                "passages": [[hit.passage.document_key, hit.passage.text, hit.score] for hit in hits[:DEPTH]],
            }
            for answers, hits in ask(texts[begin:end])
        ]

    rows = resume_rows(partial, stamp, len(texts), _CHUNK, answer, progress)
    return [
        Predicted([(text, score) for text, score in row["answers"]], "", [tuple(passage) for passage in row["passages"]])
        for row in rows
    ]


def is_right(answer: str, question: OpenQuestion) -> bool:
    """Whether an answer equals an accepted one, or holds one and has at most ``LONGEST`` times as many words.

    Both are normalised as SQuAD's scripts do. Of a pattern, whether it matches.
    """
    if question.pattern is not None:
        return bool(score_open(question, answer).em)
    words = normalize_answer(answer).split()
    accepted = [normalize_answer(text).split() for text in question.answers]
    return any(
        own and len(words) <= LONGEST * len(own) and f" {' '.join(own)} " in f" {' '.join(words)} " for own in accepted
    )


def is_document(name: str, document: str) -> bool:
    """Whether a document's name, or that of the table that a row stands in, ends in the path or matches the pattern."""
    pattern = document if any(mark in document for mark in "*?[") else f"*/{document}"
    return any(fnmatchcase(f"/{path}", pattern) or path == document for path in (name, name.rpartition("#")[0]) if path)


def evaluate_asked(questions: Sequence[OpenQuestion], predictions: Sequence[Predicted]) -> list[QuestionResult]:
    """Score every question: ``em``, ``f1``, ``right`` (1 for a refusal of an unanswerable one) and ``refused``.

    The rank is that of the first passage of the question's document that holds an accepted answer.
    """
    results = []
    for question, predicted in zip(questions, predictions, strict=True):
        refused = not predicted.answers
        if is_answerable(question):
            first = "" if refused else predicted.answers[0][0]
            score, right = score_open(question, first), not refused and is_right(first, question)
        else:
            score, right = Score(float(refused), float(refused)), refused
        metrics = {"em": score.em, "f1": score.f1, "right": float(right), "refused": float(refused)}
        texts = {name: text for name, text, _ in predicted.retrieved[:3]}
        found = [(name, value) for name, _, value in predicted.retrieved]
        gold = question.answers or (question.pattern or "",)
        results.append(
            QuestionResult(
                question.id, question.text, metrics, [passage_rank(question, predicted)], list(dict.fromkeys(gold)), found,
                texts, predicted.answers[:5],
            )
        )  # fmt: skip
    return results


def passage_rank(question: OpenQuestion, predicted: Predicted) -> float:
    """The rank, from 1, of the first passage that holds an accepted answer in the right document; infinite without one."""
    for rank, (name, text, _) in enumerate(predicted.retrieved, 1):
        if has_answer(text, question) and (question.document is None or is_document(name, question.document)):
            return rank
    return math.inf


def asked_metrics(questions: Sequence[OpenQuestion], results: Sequence[QuestionResult]) -> dict[str, float]:
    """The numbers of questions, and metrics in percent; those of no question at all are left out.

    ``answerable_em``, ``answerable_f1`` and ``answerable_right`` are of the first answer, ``acc@5`` of the first five
    passages. ``precision`` is the share of right answers among all that were given, to unanswerable questions, too.
    """
    pairs = list(zip(questions, results, strict=True))
    answerable = [result for question, result in pairs if is_answerable(question)]
    others = [result for question, result in pairs if not is_answerable(question)]
    given = [result for result in results if not result.metrics["refused"]]
    values = {f"answerable_{name}": [result.metrics[name] for result in answerable] for name in ("em", "f1", "right")}
    values[f"acc@{DEPTH}"] = [float(result.ranks[0] <= DEPTH) for result in answerable]
    values["refused_unanswerable"] = [result.metrics["refused"] for result in others]
    values["refused_answerable"] = [result.metrics["refused"] for result in answerable]
    values["precision"] = [result.metrics["right"] for result in given]
    shares = {name: round(100 * float(np.mean(own)), 2) for name, own in values.items() if own}
    return {"answerable": len(answerable), "unanswerable": len(others), **shares}


def grouped_metrics(
    questions: Sequence[OpenQuestion], results: Sequence[QuestionResult]
) -> dict[str, dict[str, dict[str, float]]]:
    """The same by collection and by kind, where the questions name them."""
    groups: dict[str, dict[str, dict[str, float]]] = {}
    for by, names in (
        ("collection", [question.collection for question in questions]),
        ("kind", [question.kind for question in questions]),
    ):
        for name in sorted({name for name in names if name is not None}):
            places = [place for place, own in enumerate(names) if own == name]
            own = asked_metrics([questions[place] for place in places], [results[place] for place in places])
            groups.setdefault(by, {})[name] = own
    return groups
