from __future__ import annotations

import pytest

from oreqa.datasets.paragraphs import Gold, Paragraph, Question
from oreqa.errors import InputError
from oreqa.evaluation.candidates import candidate_recall
from oreqa.generation.candidates import AnswerCandidate

TEXT = "The brown fox runs home to its den."


def candidate(text: str) -> AnswerCandidate:
    start = TEXT.index(text)
    return AnswerCandidate(text, start, start + len(text), "name", 0.0)


def question(*answers: str) -> Question:
    return Question("1", "?", tuple(Gold(text, TEXT.index(text)) for text in answers))


def test_recall_counts_questions() -> None:
    paragraphs = [
        Paragraph("", TEXT, (question("brown fox"), question("home", "to its den"), question("its den"), question())),
        Paragraph("", TEXT, (question("runs"),)),
    ]
    ranked = [[candidate("The brown fox"), candidate("den"), candidate("home")], []]
    assert candidate_recall(paragraphs, ranked, (1, 2, 3)) == {
        "questions": 4,
        "candidates": 1.5,
        "exact@1": 25.0,  # the article is not counted
        "overlap@1": 25.0,
        "exact@2": 25.0,
        "overlap@2": 75.0,
        "exact@3": 50.0,
        "overlap@3": 75.0,
    }


def test_wrong_arguments() -> None:
    paragraph = Paragraph("", TEXT, (question(),))
    with pytest.raises(InputError, match="1 paragraphs take as many lists of candidates, not 2"):
        candidate_recall([paragraph], [[], []])
    with pytest.raises(InputError, match="no question of the paragraphs has an answer"):
        candidate_recall([paragraph], [[]])
