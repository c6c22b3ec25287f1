"""Handles defaults stated in references: raises their answers' probability, and keeps sentences whole for yes or no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oreqa.answer import Answer
from oreqa.answering.definitions import entry_text
from oreqa.core import Hit
from oreqa.models.fitted import Calibration
from oreqa.text.defaults import asks_for_default, states_default
from oreqa.text.queried_entries import queried_entries

STATED_RIGHT = 0.9
"""The least probability of an answer from the only sentence of an entry that states its default (docs/text-rules.md)."""


def with_stated_defaults(
    question: str, answers: Sequence[Answer], hits: Sequence[Hit], calibration: Calibration | None
) -> list[Answer]:
    """Return the answers; the first one has ``STATED_RIGHT`` or more if its sentence states the default asked for."""
    if calibration is None or not asks_for_default(question) or not answers or not _is_stated(question, answers[0], hits):
        return list(answers)
    return [replace(answers[0], confidence=max(STATED_RIGHT, answers[0].confidence or 0.0)), *answers[1:]]


def as_sentences(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers' sentences, each once: a part may say the opposite, e.g. "verified" of "is not verified"."""
    whole: dict[tuple[str, int], Answer] = {}
    for answer in answers:
        sentence = answer.sentence
        as_whole = replace(answer, text=sentence.text, start=sentence.start, end=sentence.end)
        whole.setdefault((answer.passage.document_key, sentence.start), as_whole)
    return list(whole.values())


def _is_stated(question: str, answer: Answer, hits: Sequence[Hit]) -> bool:
    """Return whether an answer is in an entry that the question asks about, in a sentence that states a default."""
    passage = answer.passage
    start, end = answer.start - passage.start, answer.end - passage.start
    for hit, entries in zip(hits, queried_entries(question, [entry_text(hit.passage) for hit in hits]), strict=True):
        if hit.passage is passage:
            return any(entry.body_start <= start and end <= entry.end for entry in entries) and states_default(
                answer.sentence.text
            )
    return False
