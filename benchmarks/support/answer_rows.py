"""Questions about paragraphs, asked of an index as they are or without their own article."""

from __future__ import annotations

from typing import Any

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.answering.combining import fitted_combination
from oreqa.core import Hit
from oreqa.datasets.paragraphs import Paragraph, readable_title
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_READER
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
    index: Index, reader: Reader, reranker: CrossEncoder | None, chosen: list[tuple[Paragraph, Any]], apart: bool
) -> list[Row]:
    """Search and read; ``apart`` leaves the passages of the question's own article out."""
    questions = [
        OpenQuestion(question.id, question.text, () if apart else tuple(gold.text for gold in question.answers))
        for _, question in chosen
    ]
    searched = index.search(
        [question.text for question in questions], 40 if apart else PASSAGES_TOP_K, mode="hybrid", unit="passage"
    )
    read: list[list[Hit]] = []
    for (paragraph, _), hits in zip(chosen, searched, strict=True):
        article = readable_title(paragraph.title)  # a paragraph without one is an article of its own
        others = [h for h in hits if h.passage.text != paragraph.text and not (article and h.passage.title == article)]
        read.append((others if apart else hits)[:PASSAGES_TOP_K])
    return reading_rows(reader, reranker, questions, read, COMBINATION)
