"""Retrieval question answering tasks (ReQA, Ahmad et al. 2019; MultiReQA, Guo et al. 2021).

Candidates are the sentences of all paragraphs, each with its paragraph as context. A question's gold candidates are the
sentences in which one of its answers starts; identical questions are merged.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from oreqa.core import Document, Passage, Range, Sentence
from oreqa.corpus.splitter import paragraph_passage, sentence_at
from oreqa.datasets.beir import Beir
from oreqa.datasets.paragraphs import Paragraph, readable_title
from oreqa.errors import InputError
from oreqa.files import need, read_jsonl

_CANDIDATE = re.compile(r"(?:[A-Z][A-Za-z-]*_)?(?P<question>.+?)(?:/?_\d+_\d+)?")
"""A MultiReQA candidate id: the name of the set, the id of an MRQA question, and positions."""

Boundaries = Mapping[tuple[str, int] | str, Sequence[Range]]
"""Sentences of a paragraph, by its article's title and its number there, or by the id of a question about it."""


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


def load_boundaries(path: Path) -> Boundaries:
    """Read sentence boundaries.

    Rows are ``{title, paragraph, start, end}``, by article title and paragraph number from 0; or MultiReQA's
    ``{candidate_id, response_start, response_end}``, by the id of an MRQA question.
    """
    ranges: dict[tuple[str, int] | str, set[Range]] = {}
    for number, row in read_jsonl(path):
        where = f"{path}, line {number}"
        if "candidate_id" in row:
            match = _CANDIDATE.fullmatch(need(row, "candidate_id", str, where))
            if match is None:
                raise InputError(f"{where}: its candidate_id is empty")
            sentence = need(row, "response_start", int, where), need(row, "response_end", int, where)
            ranges.setdefault(match["question"], set()).add(sentence)
        else:
            key = need(row, "title", str, where), need(row, "paragraph", int, where)
            ranges.setdefault(key, set()).add((need(row, "start", int, where), need(row, "end", int, where)))
    return {key: sorted(sentences) for key, sentences in ranges.items()}


def build_reqa(paragraphs: Sequence[Paragraph], boundaries: Boundaries | None = None, language: str = "en") -> ReqaTask:
    """Build the task from sentence ``boundaries``, or else with our sentence splitter.

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


def _paragraph_boundaries(boundaries: Boundaries, title: str, number: int, paragraph: Paragraph) -> Sequence[Range]:
    question_sentences = {sentence for question in paragraph.questions for sentence in boundaries.get(question.id, ())}
    sentences = boundaries.get((title, number)) or sorted(question_sentences)
    if not sentences:
        raise InputError(f"the sentence boundaries lack paragraph {number} of {title!r}: do they belong to another file?")
    if any(not 0 <= start < end <= len(paragraph.text) for start, end in sentences):
        raise InputError(f"a sentence boundary is outside paragraph {number} of {title!r}: do they belong to another file?")
    return sentences


def need_questions(task: ReqaTask, where: str) -> ReqaTask:
    """Return the task. Raises InputError with ``where`` if it has no questions."""
    if not task.questions:
        raise InputError(f"{where}: no question with an answer")
    return task


def beir_task(task: Beir) -> ReqaTask:
    """Convert a BEIR task: every document is a passage of one sentence.

    Only the gold documents and those that share a title with one are kept.
    """
    gold = {document for grades in task.qrels.values() for document, grade in grades.items() if grade > 0}
    titles = {entry.title for entry in task.corpus if entry.id in gold and entry.title}
    entries = [e for e in task.corpus if e.text.strip() and (e.id in gold or e.title in titles)]
    numbers = {entry.id: number for number, entry in enumerate(entries)}
    passages = tuple(
        Passage(e.id, e.title, "", e.text, 0, len(e.text), (Sentence(e.text, 0, len(e.text)),)) for e in entries
    )
    merged: dict[str, set[int]] = {}
    for query, grades in task.qrels.items():
        if golds := _golds(grades, numbers):
            merged.setdefault(task.queries[query], set()).update(golds)
    return ReqaTask(passages, tuple(merged), tuple(tuple(sorted(golds)) for golds in merged.values()))


def _golds(grades: Mapping[str, int], numbers: Mapping[str, int]) -> set[int]:
    return {numbers[document] for document, grade in grades.items() if grade > 0 and document in numbers}


def draw_questions(task: ReqaTask, count: int | None, seed: int) -> ReqaTask:
    """Return the task with a random sample of ``count`` questions; with all of them if ``count`` is None or not smaller."""
    if count is None or count >= len(task.questions):
        return task
    return _with_questions(task, sorted(random.Random(seed).sample(range(len(task.questions)), count)))


def questions_of_candidates(task: ReqaTask) -> dict[int, list[int]]:
    """Return the gold candidates in order, each with the numbers of its questions."""
    question_numbers: dict[int, list[int]] = {}
    for number, golds in enumerate(task.gold):
        for gold in golds:
            question_numbers.setdefault(gold, []).append(number)
    return dict(sorted(question_numbers.items()))


def often_asked(task: ReqaTask, min_questions: int, where: str) -> ReqaTask:
    """Return the task with the questions about candidates that have at least ``min_questions`` (Wang et al. 2021, 4.5).

    All candidates stay. A question with several gold candidates is kept if one of them has that many questions; the others
    stay gold, as they answer it, too. Raises InputError with ``where`` if no candidate has that many questions.
    """
    kept = often_asked_numbers(task, min_questions)
    if not kept:
        largest = max(map(len, questions_of_candidates(task).values()), default=0)
        raise InputError(f"{where}: no answer sentence has {min_questions} questions: ask for {largest} at most")
    return _with_questions(task, kept)


def often_asked_numbers(task: ReqaTask, min_questions: int) -> list[int]:
    """Return the numbers of the questions that ``often_asked`` keeps."""
    counts = {gold: len(numbers) for gold, numbers in questions_of_candidates(task).items()}
    return [number for number, golds in enumerate(task.gold) if max(counts[gold] for gold in golds) >= min_questions]


def _with_questions(task: ReqaTask, kept: Sequence[int]) -> ReqaTask:
    return ReqaTask(task.passages, tuple(task.questions[i] for i in kept), tuple(task.gold[i] for i in kept))
