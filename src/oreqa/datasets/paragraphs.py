"""Paragraphs with questions: the types for reading comprehension data, SQuAD and MRQA files, and held-out articles."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.errors import InputError
from oreqa.files import need, need_id, optional, read_json, read_jsonl, write_json
from oreqa.visible import counted

HELD_OUT_ARTICLES = 10
"""One article in this many is held out of all training, for tuning and calibration."""

_MARK = re.compile(r"\[(?:DOC|PAR|TLE|SEP)\]")
"""Separators of documents, titles and paragraphs in MRQA's HotpotQA, TriviaQA and SearchQA."""


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
    """Return the ranges of a question's answers in its paragraph, without those that are not where the data says."""
    ranges = ((gold.start, gold.start + len(gold.text), gold.text) for gold in question.answers)
    return [(start, end) for start, end, answer in ranges if start >= 0 and answer.strip() and text[start:end] == answer]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph, the title of its article, and the questions about it."""

    title: str
    text: str
    questions: tuple[Question, ...]


def load_squad(path: Path) -> list[Paragraph]:
    """Read a SQuAD file (1.1 or 2.0, plain or gzipped). Raises InputError naming the malformed entry."""
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


def load_mrqa(path: Path) -> list[Paragraph]:
    """Read an MRQA file, with every detected span of each answer. Marks between paragraphs become blank lines.

    Raises InputError naming the malformed line.
    """
    paragraphs = []
    for number, row in read_jsonl(path):
        if "header" in row:
            continue
        where = f"{path}, line {number}"
        if "question" in row and "answer" in row:
            raise InputError(
                f"{where}: it is a pair to train on; give a SQuAD file (.json), as oreqa generate --out NAME.json writes, "
                "or an MRQA file (.jsonl)"
            )
        if "question" in row:
            raise InputError(f"{where}: a list of questions has no paragraphs, which this needs: give a SQuAD or MRQA file")
        if "context" not in row:
            raise InputError(f"{where}: it has neither 'context', as MRQA's lines, nor 'question', as a list of questions")
        text = _MARK.sub(lambda mark: "\n\n".ljust(len(mark[0])), need(row, "context", str, where))
        questions = []
        for q, entry in enumerate(need(row, "qas", list, where)):
            at = f"{where}, question {q}"
            golds = [
                gold for answer in optional(entry, "detected_answers", list, [], at) for gold in _spans(answer, text, at)
            ]
            questions.append(Question(need_id(entry, "qid", at), need(entry, "question", str, at), tuple(golds)))
        paragraphs.append(Paragraph(optional(row, "title", str, "", where), text, tuple(questions)))
    return paragraphs


def _spans(answer: Any, text: str, where: str) -> list[Gold]:
    golds = []
    for span in need(answer, "char_spans", list, where):
        if not (isinstance(span, list) and len(span) == 2 and all(type(offset) is int for offset in span)):
            raise InputError(f"{where}: a span of 'char_spans' is not [start, end]")
        start, end = span
        golds.append(Gold(text[start : end + 1], start))  # MRQA's ends are inclusive
    return golds


def readable_title(title: str) -> str:
    """Return a title with spaces for SQuAD's underscores; "" for "untitled"."""
    title = title.replace("_", " ").strip()
    return "" if title.lower() == "untitled" else title


def is_held_out(paragraph: Paragraph) -> bool:
    """Return whether a paragraph's article, or the paragraph itself without a title, is held out of training."""
    return is_held_out_name(readable_title(paragraph.title) or paragraph.text)


def is_held_out_name(name: str, of: int = HELD_OUT_ARTICLES) -> bool:
    """Return whether the article with this title, or the untitled paragraph with this text, is held out: one in ``of``."""
    return int.from_bytes(hashlib.sha1(name.encode()).digest()[:8]) % of == 0


def split_articles(paragraphs: Iterable[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """Split paragraphs into those to train on and those held out."""
    train: list[Paragraph] = []
    held_out: list[Paragraph] = []
    for paragraph in paragraphs:
        (held_out if is_held_out(paragraph) else train).append(paragraph)
    return train, held_out


def held_out_paragraphs(paragraphs: Sequence[Paragraph], path: Path) -> list[Paragraph]:
    """Return the paragraphs of the data in ``path`` that are held out. Raises InputError if there are none."""
    held_out = split_articles(paragraphs)[1]
    if not held_out:
        articles = counted(count_held_out(paragraphs).all_articles, "article")
        raise InputError(f"{path}: none is held out of {articles}; one in ten is, by its title: use data with more articles")
    return held_out


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How many articles of all, and questions with an answer, are held out; a paragraph without a title is an article."""

    articles: int
    all_articles: int
    questions: int


def count_held_out(paragraphs: Iterable[Paragraph]) -> HeldOut:
    """Count what ``split_articles`` holds out."""
    parts = split_articles(paragraphs)
    articles = [len({readable_title(paragraph.title) or paragraph.text for paragraph in part}) for part in parts]
    questions = sum(bool(question.answers) for paragraph in parts[1] for question in paragraph.questions)
    return HeldOut(articles[1], sum(articles), questions)


def whole_passages(paragraphs: Iterable[Paragraph], language: str = "en") -> list[Passage]:
    """Return every paragraph as one passage, split by our sentence splitter; documents are named by title and number."""
    return [
        paragraph_passage(Document(f"{paragraph.title}#{number}", readable_title(paragraph.title), paragraph.text), language)
        for number, paragraph in enumerate(paragraphs)
    ]


def save_squad(path: Path, paragraphs: Iterable[Paragraph], version: str = "1.1") -> None:
    """Write a SQuAD file. Raises InputError for an unanswerable question in version 1.1, which does not support it."""
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
