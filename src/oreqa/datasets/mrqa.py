"""MRQA files: JSON lines, first a header, then one context per line with its questions."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oreqa.datasets.squad import Gold, Paragraph, Question
from oreqa.errors import InputError
from oreqa.files import need, need_id, optional, read_jsonl, write_jsonl


def load_mrqa(path: Path) -> list[Paragraph]:
    """Read an MRQA file, with every detected span of each answer. Raises InputError that names the malformed line."""
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
        text = need(row, "context", str, where)
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


def save_mrqa(path: Path, paragraphs: Iterable[Paragraph], dataset: str) -> None:
    """Write an MRQA file with ``dataset`` in its header, and without token offsets: readers use character offsets."""
    rows: list[dict[str, Any]] = [{"header": {"dataset": dataset, "split": ""}}]
    for paragraph in paragraphs:
        questions = [
            {
                "qid": question.id,
                "question": question.text,
                "answers": list(dict.fromkeys(gold.text for gold in question.answers)),
                "detected_answers": [
                    {"text": gold.text, "char_spans": [[gold.start, gold.start + len(gold.text) - 1]]}
                    for gold in question.answers
                ],
            }
            for question in paragraph.questions
        ]
        rows.append({"title": paragraph.title, "context": paragraph.text, "qas": questions})
    write_jsonl(path, rows)
