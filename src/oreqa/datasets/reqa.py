"""Retrieval question answering tasks (ReQA, Ahmad et al. 2019; MultiReQA, Guo et al. 2021).

Candidates are the sentences of all paragraphs, each with its paragraph as context. A question's gold candidates are the
sentences in which one of its answers starts; identical questions are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage, sentence_at
from oreqa.datasets.mrqa import load_mrqa
from oreqa.datasets.squad import Paragraph, load_squad, readable_title
from oreqa.errors import InputError
from oreqa.files import need, read_jsonl

Range = tuple[int, int]
"""Start and end offsets in characters, end-exclusive."""


@dataclass(frozen=True, slots=True)
class ReqaTask:
    """A retrieval task: candidate i is the i-th sentence of all passages; ``gold`` lists each question's candidates."""

    passages: tuple[Passage, ...]
    questions: tuple[str, ...]
    gold: tuple[tuple[int, ...], ...]

    @property
    def candidates(self) -> int:
        """Number of candidates."""
        return sum(len(passage.sentences) for passage in self.passages)


def load_paragraphs(path: Path) -> list[Paragraph]:
    """Read a SQuAD file (.json) or an MRQA file (.jsonl). Raises InputError for other extensions and malformed content."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        return load_mrqa(path)
    if name.endswith(".json"):
        return load_squad(path)
    raise InputError(f"{path}: give a SQuAD file (.json) or an MRQA file (.jsonl), plain or gzipped")


def load_boundaries(path: Path) -> dict[tuple[str, int], list[Range]]:
    """Read sentence boundaries, rows ``{title, paragraph, start, end}``, by article title and paragraph number from 0."""
    ranges: dict[tuple[str, int], list[Range]] = {}
    for number, row in read_jsonl(path):
        where = f"{path}, line {number}"
        key = need(row, "title", str, where), need(row, "paragraph", int, where)
        ranges.setdefault(key, []).append((need(row, "start", int, where), need(row, "end", int, where)))
    return {key: sorted(sentences) for key, sentences in ranges.items()}


def build_reqa(
    paragraphs: Sequence[Paragraph], boundaries: dict[tuple[str, int], list[Range]] | None = None, language: str = "en"
) -> ReqaTask:
    """Build the task from sentence ``boundaries``, or without them by splitting the sentences here.

    Raises InputError if a paragraph has no boundaries, or boundaries outside its text.
    """
    passages: list[Passage] = []
    questions: dict[str, set[int]] = {}
    first = 0
    for title, group in groupby(paragraphs, key=lambda paragraph: paragraph.title):
        for number, paragraph in enumerate(group):
            sentences = None if boundaries is None else _paragraph_boundaries(boundaries, title, number, paragraph)
            document = Document(f"{title}#{number}#{len(passages)}", readable_title(title), paragraph.text)
            passage = paragraph_passage(document, language, sentences)
            for question in paragraph.questions:
                # An answer that starts between two sentences counts for the first of them.
                golds = {first + sentence_at(passage, gold.start) for gold in question.answers if passage.sentences}
                if golds:
                    questions.setdefault(question.text, set()).update(golds)
            passages.append(passage)
            first += len(passage.sentences)
    gold = tuple(tuple(sorted(numbers)) for numbers in questions.values())
    return ReqaTask(tuple(passages), tuple(questions), gold)


def _paragraph_boundaries(
    boundaries: dict[tuple[str, int], list[Range]], title: str, number: int, paragraph: Paragraph
) -> list[Range]:
    sentences = boundaries.get((title, number))
    if sentences is None:
        raise InputError(f"the sentence boundaries lack paragraph {number} of {title!r}: do they belong to another file?")
    if any(not 0 <= start < end <= len(paragraph.text) for start, end in sentences):
        raise InputError(f"a sentence boundary is outside paragraph {number} of {title!r}: do they belong to another file?")
    return sentences
