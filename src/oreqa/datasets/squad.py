"""SQuAD 1.1 and 2.0 files, and the types that hold reading comprehension data of every format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import need, need_id, optional, read_json, write_json


@dataclass(frozen=True, slots=True)
class Gold:
    """An annotated answer: in clean data ``paragraph.text[start : start + len(text)] == text``."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a paragraph; without answers it is unanswerable from that paragraph.

    ``plausible`` spans look like answers to an unanswerable question but are not (SQuAD 2.0).
    """

    id: str
    text: str
    answers: tuple[Gold, ...]
    plausible: tuple[Gold, ...] = ()


def placed_answers(text: str, question: Question) -> list[tuple[int, int]]:
    """The characters of a question's answers in its paragraph, those left out that do not stand where the data says."""
    ranges = ((gold.start, gold.start + len(gold.text), gold.text) for gold in question.answers)
    return [(start, end) for start, end, answer in ranges if start >= 0 and answer.strip() and text[start:end] == answer]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, the title of its article, and the questions about it."""

    title: str
    text: str
    questions: tuple[Question, ...]


def load_squad(path: Path) -> list[Paragraph]:
    """Read a SQuAD file (1.1 or 2.0, plain or gzipped). Raises InputError that names the malformed entry."""
    content = read_json(path)
    paragraphs = []
    for a, article in enumerate(need(content, "data", list, str(path))):
        title = optional(article, "title", str, "", f"{path}, article {a}")
        for p, paragraph in enumerate(need(article, "paragraphs", list, f"{path}, article {a}")):
            where = f"{path}, article {a} ({title[:99]}), paragraph {p}"
            text = need(paragraph, "context", str, where)
            rows = optional(paragraph, "qas", list, [], where)
            questions = tuple(_question(row, f"{where}, question {q}") for q, row in enumerate(rows))
            paragraphs.append(Paragraph(title, text, questions))
    return paragraphs


def _question(row: Any, where: str) -> Question:
    answers, plausible = _golds(row, "answers", where), _golds(row, "plausible_answers", where)
    if row.get("is_impossible"):
        answers = ()
    return Question(need_id(row, "id", where), need(row, "question", str, where), answers, () if answers else plausible)


def _golds(row: Any, name: str, where: str) -> tuple[Gold, ...]:
    answers = optional(row, name, list, [], where)
    return tuple(Gold(need(answer, "text", str, where), need(answer, "answer_start", int, where)) for answer in answers)


def readable_title(title: str) -> str:
    """Return a title with spaces for SQuAD's underscores; "" for "untitled"."""
    title = title.replace("_", " ").strip()
    return "" if title.lower() == "untitled" else title


def save_squad(path: Path, paragraphs: Iterable[Paragraph], version: str = "1.1") -> None:
    """Write a SQuAD file. Raises InputError for an unanswerable question in version 1.1, which cannot hold it."""
    articles: list[dict[str, Any]] = []
    for title, group in groupby(paragraphs, key=lambda paragraph: paragraph.title):
        articles.append({"title": title, "paragraphs": [_paragraph_row(p, version) for p in group]})
    write_json(path, {"version": version, "data": articles})


def _paragraph_row(paragraph: Paragraph, version: str) -> dict[str, Any]:
    rows = []
    for question in paragraph.questions:
        row: dict[str, Any] = {"id": question.id, "question": question.text, "answers": _gold_rows(question.answers)}
        if not question.answers and version == "1.1":
            raise InputError(f"question {question.id} has no answer, which SQuAD 1.1 cannot hold: write version 2.0")
        if version != "1.1":
            row["is_impossible"] = not question.answers
        if question.plausible:
            row["plausible_answers"] = _gold_rows(question.plausible)
        rows.append(row)
    return {"context": paragraph.text, "qas": rows}


def _gold_rows(golds: Iterable[Gold]) -> list[dict[str, Any]]:
    return [{"text": gold.text, "answer_start": gold.start} for gold in golds]
