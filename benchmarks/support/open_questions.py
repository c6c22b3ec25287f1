"""Question lists that experiments ask of a collection of passages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from oreqa.datasets.load import answered_questions
from oreqa.datasets.questions import OpenQuestion, answer_ranges
from oreqa.evaluation import evaluate_openqa
from oreqa.files import read_json, write_jsonl
from oreqa.text.answers import normalize_answer

TESTS = ("nq", "trec")
TREC = "factoid/curatedtrec-large2470-{}.jsonl.gz"


def write_questions(file: Path, questions: Sequence[OpenQuestion]) -> None:
    """Write a question list."""
    rows = [
        {"id": str(number), "question": question.text}
        | ({"pattern": question.pattern} if question.pattern is not None else {"answers": list(question.answers)})
        for number, question in enumerate(questions)
    ]
    write_jsonl(file, rows)


def trec_test(data: Path, texts: Collection[str], train: Sequence[OpenQuestion]) -> list[OpenQuestion]:
    """Return the questions of CuratedTREC's test set that one of the texts answers, except those worded like a
    ``train`` question."""
    seen = {normalize_answer(question.text) for question in train}
    return [
        question
        for question in answered_questions(data / TREC.format("test"))
        if normalize_answer(question.text) not in seen and any(answer_ranges(text, question) for text in texts)
    ]


def answer_tests(work: Path, name: str, metrics: Sequence[str], **options: Any) -> dict[str, dict[str, float]]:
    """Answer the lists of ``TESTS`` into ``work/NAME-TEST`` unless that is done; return some metrics of each."""
    figures = {}
    for test in TESTS:
        out = work / f"{name}-{test}"
        if not (out / "metrics.json").is_file():
            evaluate_openqa(work / f"{test}.jsonl", out, **options)
        measured = read_json(out / "metrics.json")
        figures[test] = {metric: measured[metric] for metric in metrics}
    return figures
