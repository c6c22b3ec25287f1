from __future__ import annotations

import importlib.util
from pathlib import Path

from oreqa.datasets.paragraphs import Gold, Paragraph, Question
from oreqa.generation.candidates import AnswerCandidate

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TEXT = "The brown fox runs home to its den."


def candidate(text: str) -> AnswerCandidate:
    start = TEXT.index(text)
    return AnswerCandidate(text, start, start + len(text), "name", 0.0)


def question(*answers: str) -> Question:
    return Question("1", "?", tuple(Gold(text, TEXT.index(text)) for text in answers))


def test_recall_counts_questions() -> None:
    spec = importlib.util.spec_from_file_location("answer_candidates", BENCHMARKS / "quality" / "answer_candidates.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    paragraphs = [
        Paragraph("", TEXT, (question("brown fox"), question("home", "to its den"), question("its den"), question())),
        Paragraph("", TEXT, (question("runs"),)),
    ]
    ranked = [[candidate("The brown fox"), candidate("den"), candidate("home")], []]
    assert script.candidate_recall(paragraphs, ranked, (1, 2, 3)) == {
        "questions": 4,
        "candidates": 1.5,
        "exact@1": 25.0,  # the article is not counted
        "overlap@1": 25.0,
        "exact@2": 25.0,
        "overlap@2": 75.0,
        "exact@3": 50.0,
        "overlap@3": 75.0,
    }
