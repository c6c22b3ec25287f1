"""Recall of answer candidates: how many of the answers that people asked for are among them?"""

from __future__ import annotations

from collections.abc import Sequence

from oreqa.datasets.paragraphs import Paragraph
from oreqa.errors import InputError
from oreqa.generation.candidates import AnswerCandidate
from oreqa.text.answers import normalize_answer


def candidate_recall(
    paragraphs: Sequence[Paragraph], candidates: Sequence[Sequence[AnswerCandidate]], cuts: Sequence[int] = (5, 10)
) -> dict[str, float]:
    """Recall of the gold answers among the first candidates of each paragraph, in percent of the answerable questions.

    ``exact@k``: one of the first k candidates equals one of the question's answers after SQuAD's normalisation.
    ``overlap@k``: one of them shares a character with one of the answers. ``questions`` is their number, ``candidates`` the
    mean number of candidates of a paragraph. Raises InputError if there is not one list for each paragraph, or no answer.
    """
    if len(paragraphs) != len(candidates):
        raise InputError(f"{len(paragraphs)} paragraphs take as many lists of candidates, not {len(candidates)}")
    questions = sum(bool(question.answers) for paragraph in paragraphs for question in paragraph.questions)
    if not questions:
        raise InputError("no question of the paragraphs has an answer")
    recall: dict[str, float] = {}
    for k in cuts:
        exact = overlap = 0
        for paragraph, ranked in zip(paragraphs, candidates, strict=True):
            first = ranked[:k]
            texts = {normalize_answer(candidate.text) for candidate in first}
            for question in paragraph.questions:
                exact += any(normalize_answer(gold.text) in texts for gold in question.answers)
                overlap += any(
                    gold.start < candidate.end and candidate.start < gold.start + len(gold.text)
                    for gold in question.answers
                    for candidate in first
                )
        recall[f"exact@{k}"] = round(100 * exact / questions, 2)
        recall[f"overlap@{k}"] = round(100 * overlap / questions, 2)
    mean = sum(map(len, candidates)) / len(candidates)
    return {"questions": questions, "candidates": round(mean, 2), **recall}
