"""Retrieval question answering tasks (ReQA, Ahmad et al. 2019; MultiReQA, Guo et al. 2021).

Candidates are the sentences of all paragraphs, each with its paragraph as context. A question's gold candidates are those
in which one of its answers begins; equal questions are merged.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.mrqa import load_mrqa
from oreqa.datasets.squad import Paragraph, load_squad, readable_title
from oreqa.errors import InputError
from oreqa.files import need, read_jsonl

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ReqaTask:
    """Passages, whose sentences in order are the candidates; questions; and the gold candidates' numbers of each."""

    passages: tuple[Passage, ...]
    questions: tuple[str, ...]
    gold: tuple[tuple[int, ...], ...]

    @property
    def candidates(self) -> int:
        return sum(len(passage.sentences) for passage in self.passages)


def load_paragraphs(path: Path) -> list[Paragraph]:
    """Read a SQuAD or an MRQA file, whichever it is."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        return load_mrqa(path)
    if name.endswith(".json"):
        return load_squad(path)
    raise InputError(f"{path}: give a SQuAD file (.json) or an MRQA file (.jsonl), plain or gzipped")


def load_boundaries(path: Path) -> dict[tuple[str, int], list[Range]]:
    """Sentence boundaries by article title and paragraph number: rows ``{title, paragraph, start, end}``."""
    spans: dict[tuple[str, int], list[Range]] = {}
    for number, row in read_jsonl(path):
        where = f"{path}, line {number}"
        key = need(row, "title", str, where), need(row, "paragraph", int, where)
        spans.setdefault(key, []).append((need(row, "start", int, where), need(row, "end", int, where)))
    return {key: sorted(ranges) for key, ranges in spans.items()}


def build_reqa(
    paragraphs: Sequence[Paragraph], boundaries: dict[tuple[str, int], list[Range]] | None = None, language: str = "en"
) -> ReqaTask:
    """Make the task; without ``boundaries`` our own splitter finds the sentences.

    Raises InputError if the boundaries lack a paragraph or lie outside it.
    """
    passages: list[Passage] = []
    questions: dict[str, set[int]] = {}
    first = 0
    for title, group in groupby(paragraphs, key=lambda paragraph: paragraph.title):
        for number, paragraph in enumerate(group):
            spans = _given(boundaries, title, number, paragraph) if boundaries is not None else None
            document = Document(f"{title}#{number}#{len(passages)}", readable_title(title), paragraph.text)
            passage = paragraph_passage(document, language, spans)
            starts = [sentence.start for sentence in passage.sentences]
            for question in paragraph.questions:
                # An answer that begins between two sentences counts for the one before.
                golds = {first + max(0, bisect_right(starts, gold.start) - 1) for gold in question.answers if starts}
                if golds:
                    questions.setdefault(question.text, set()).update(golds)
            passages.append(passage)
            first += len(starts)
    gold = tuple(tuple(sorted(sentences)) for sentences in questions.values())
    return ReqaTask(tuple(passages), tuple(questions), gold)


def _given(boundaries: dict[tuple[str, int], list[Range]], title: str, number: int, paragraph: Paragraph) -> list[Range]:
    spans = boundaries.get((title, number))
    if spans is None:
        raise InputError(f"the sentence boundaries lack paragraph {number} of {title!r}: are they of another file?")
    if any(not 0 <= start < end <= len(paragraph.text) for start, end in spans):
        raise InputError(f"a sentence boundary lies outside paragraph {number} of {title!r}: are they of another file?")
    return spans
