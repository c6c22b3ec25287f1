"""Questions about paragraphs and documents, asked of an index as it is, or without the passages that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.answering.combining import fitted_combination
from oreqa.answering.reading_list import hits_to_read
from oreqa.core import Hit
from oreqa.datasets.paragraphs import Paragraph, readable_title
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_READER
from oreqa.evaluation.open_scores import has_answer, is_right
from oreqa.fitting.rows import Row, reading_rows
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import fitted_file, read_fitted
from oreqa.models.reader.reader import Reader

COMBINATION = fitted_combination(
    read_fitted(fitted_file(DEFAULT_READER).parent), read_fitted(fitted_file(DEFAULT_CLASSIFIER).parent)
)
"""The weights of the shipped models."""


def answer_all(
    index: Index, reader: Reader, reranker: CrossEncoder | None, chosen: list[tuple[Paragraph, Any]], without_answers: bool
) -> list[Row]:
    """Search and read; ``without_answers`` excludes the passages of the question's own article."""
    questions = [
        OpenQuestion(question.id, question.text, () if without_answers else tuple(gold.text for gold in question.answers))
        for _, question in chosen
    ]
    searched = index.search(
        [question.text for question in questions], 40 if without_answers else PASSAGES_TOP_K, mode="hybrid", unit="passage"
    )
    read: list[list[Hit]] = []
    for (paragraph, _), hits in zip(chosen, searched, strict=True):
        article = readable_title(paragraph.title)  # a paragraph without a title is its own article
        others = [h for h in hits if h.passage.text != paragraph.text and not (article and h.passage.title == article)]
        read.append((others if without_answers else hits)[:PASSAGES_TOP_K])
    return reading_rows(reader, reranker, questions, read, COMBINATION)


SEARCHED = 60
"""Passages searched for ones without an answer."""


def answer_documents(
    index: Index,
    reader: Reader,
    reranker: CrossEncoder | None,
    questions: Sequence[OpenQuestion],
    first: Reader | None = None,
) -> list[Row]:
    """Ask questions about documents as ``oreqa ask`` does, and the answerable ones also without the passages that contain an
    answer. An answer that ``is_right`` has an F1 of 1. A ``first`` reader chooses the passages."""
    found = index.search([question.text for question in questions], SEARCHED, mode="hybrid", unit="passage")
    posed = list(zip(questions, found, strict=True))
    for question, hits in zip(questions, found, strict=True):
        if question.is_answerable:
            without = [hit for hit in hits if not has_answer(hit.passage.text, question)]
            posed.append((replace(question, answers=(), pattern=None), without))
    read = hits_to_read([question.text for question, _ in posed], [hits for _, hits in posed], PASSAGES_TOP_K, first)
    rows = reading_rows(reader, reranker, [question for question, _ in posed], read, COMBINATION)
    for (question, _), row in zip(posed, rows, strict=True):
        right = [question.is_answerable and is_right(span[0], question) for span in row["spans"]]
        row["f1"] = [max(f1, float(is_so)) for f1, is_so in zip(row["f1"], right, strict=True)]
    return rows
