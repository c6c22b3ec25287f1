"""Defaults that references state: the probability of an answer that an entry gives, and sentences for yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oreqa.answer import Answer
from oreqa.answering.definitions import entry_text
from oreqa.core import Hit
from oreqa.models.fitted import Calibration
from oreqa.text.asked_entries import asked_entries
from oreqa.text.defaults import asks_for_default, asks_whether_default, states_default

STATED_RIGHT = 0.9
"""The least probability of an answer from the one sentence of an entry that states its default (docs/text-rules.md)."""


def with_stated_defaults(
    question: str, answers: Sequence[Answer], hits: Sequence[Hit], calibration: Calibration | None
) -> list[Answer]:
    """The answers, the first with ``STATED_RIGHT`` at least if its sentence states the default of an entry asked about.

    Whether something is a default is answered by the sentence.
    """
    if not asks_for_default(question) or not answers:
        return list(answers)
    first, *others = answers
    if calibration is not None and _is_stated(question, first, hits):
        first = replace(first, confidence=max(STATED_RIGHT, first.confidence or 0.0))
    if not asks_whether_default(question):
        return [first, *others]
    return [
        replace(answer, text=answer.sentence.text, start=answer.sentence.start, end=answer.sentence.end)
        for answer in (first, *others)
    ]


def _is_stated(question: str, answer: Answer, hits: Sequence[Hit]) -> bool:
    """Whether an answer stands in an entry that the question asks about, in a sentence that states a default."""
    passage = answer.passage
    start, end = answer.start - passage.start, answer.end - passage.start
    for hit, entries in zip(hits, asked_entries(question, [entry_text(hit.passage) for hit in hits]), strict=True):
        if hit.passage is passage:
            return any(entry.said <= start and end <= entry.end for entry in entries) and states_default(
                answer.sentence.text
            )
    return False
