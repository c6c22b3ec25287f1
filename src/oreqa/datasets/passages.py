"""Paragraphs and documents of a data set as the passages of a collection."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.beir import load_corpus
from oreqa.datasets.reqa import load_paragraphs
from oreqa.datasets.squad import Paragraph, readable_title


def whole_passages(paragraphs: Iterable[Paragraph], language: str = "en") -> list[Passage]:
    """Every paragraph as one passage, with our own splitter's sentences; documents are named by title and number."""
    return [
        paragraph_passage(Document(f"{paragraph.title}#{number}", readable_title(paragraph.title), paragraph.text), language)
        for number, paragraph in enumerate(paragraphs)
    ]


def read_passages(data: Path) -> list[Passage]:
    """The paragraphs of a SQuAD or MRQA file, or the documents of a BEIR folder, as a passage each, whatever is asked there.

    Raises InputError for data that cannot be read.
    """
    if data.is_dir():
        return [paragraph_passage(Document(entry.id, entry.title, entry.text)) for entry in load_corpus(data)]
    return whole_passages(load_paragraphs(data))
