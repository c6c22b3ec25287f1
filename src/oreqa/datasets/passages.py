"""Paragraphs of a data set as the passages of a collection."""

from __future__ import annotations

from collections.abc import Iterable

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.squad import Paragraph, readable_title


def whole_passages(paragraphs: Iterable[Paragraph], language: str = "en") -> list[Passage]:
    """Every paragraph as one passage, with our own splitter's sentences; documents are named by title and number."""
    return [
        paragraph_passage(Document(f"{paragraph.title}#{number}", readable_title(paragraph.title), paragraph.text), language)
        for number, paragraph in enumerate(paragraphs)
    ]
