"""Counts the questions and answers in a data file, like Wang et al. (2021, Table 1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.arguments import as_path
from oreqa.datasets.beir import load_beir
from oreqa.datasets.load import Kind, data_kind, load_paragraphs, load_question_file
from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.reqa import build_reqa, load_boundaries
from oreqa.errors import InputError


@dataclass(frozen=True, slots=True)
class DataCounts:
    """The contents of a data file. Equal questions count once, and so does an answer to several of them.

    An answer is a sentence of the paragraphs, a document of a BEIR folder, the text and passage of a pair, or the text of
    an answer, or a pattern, in a question list.
    """

    kind: Kind
    passages: int | None
    """Paragraphs, or documents of a BEIR folder; None for question lists and pairs."""
    candidates: int | None
    """Sentences of the paragraphs, or documents."""
    questions: int
    """Questions that have an answer."""
    unanswered: int
    """Questions without an answer."""
    answers: int
    pairs: int
    """Pairs of a question and an answer."""

    @property
    def answers_a_question(self) -> float:
        """The mean number of answers per answered question."""
        return self.pairs / self.questions if self.questions else 0.0

    @property
    def questions_an_answer(self) -> float:
        """The mean number of questions per answer."""
        return self.pairs / self.answers if self.answers else 0.0


def count_data(data: str | Path, *, sentences: str | Path | None = None, split: str = "test") -> DataCounts:
    """Count a SQuAD or MRQA file, a BEIR folder's ``split``, pairs, or a question list.

    Sentences come from oreqa's splitter, or from the boundaries in the file ``sentences``, as in ``evaluate_reqa``.
    Raises InputError for data that cannot be read, and for boundaries of data without paragraphs.
    """
    path = as_path(data, "data")
    kind = data_kind(path)
    if sentences is not None and kind not in ("squad", "mrqa"):
        raise InputError(f"{path}: it has no paragraphs, whose sentences {sentences} could bound; leave the boundaries out")
    if kind == "beir":
        task = load_beir(path, split)
        judged = (
            (query, document) for query, grades in task.qrels.items() for document, grade in grades.items() if grade > 0
        )
        documents = len(task.corpus)
        return _counts(kind, documents, documents, task.queries.values(), ((task.queries[q], d) for q, d in judged))
    if kind == "pairs":
        loaded = list(load_pairs(path))
        answers = ((pair.question, (pair.positive.answer, pair.positive.context)) for pair in loaded)
        return _counts(kind, None, None, (), answers)
    if kind in ("squad", "mrqa"):
        paragraphs = load_paragraphs(path)
        task_of = build_reqa(paragraphs, None if sentences is None else load_boundaries(as_path(sentences, "sentences")))
        question_texts = (question.text for paragraph in paragraphs for question in paragraph.questions)
        gold = ((task_of.questions[number], answer) for number, golds in enumerate(task_of.gold) for answer in golds)
        return _counts(kind, len(paragraphs), task_of.candidates, question_texts, gold)
    listed = load_question_file(path).questions
    rows = ((question.text, answer) for question in listed for answer in (*question.answers, question.pattern) if answer)
    return _counts(kind, None, None, (question.text for question in listed), rows)


def _counts(
    kind: Kind,
    passages: int | None,
    candidates: int | None,
    question_texts: Iterable[str],
    answers: Iterable[tuple[str, Any]],
) -> DataCounts:
    """Return the counts of questions and their answers; ``question_texts`` also has questions without answers."""
    pairs = set(answers)
    answered = {question for question, _ in pairs}
    return DataCounts(
        kind,
        passages,
        candidates,
        len(answered),
        len(set(question_texts) - answered),
        len({answer for _, answer in pairs}),
        len(pairs),
    )
