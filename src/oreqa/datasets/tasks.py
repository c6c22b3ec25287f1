"""Load question-answer data of any supported format as a ReQA task."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from oreqa.core import Passage, Sentence
from oreqa.datasets.beir import Beir, load_beir
from oreqa.datasets.reqa import ReqaTask, build_reqa, load_paragraphs
from oreqa.datasets.splits import split_articles
from oreqa.errors import InputError
from oreqa.files import read_jsonl


def load_task(path: Path, split: str = "train", held_out: bool = False) -> ReqaTask:
    """Load a BEIR folder's ``split``, or a SQuAD or MRQA file's training articles (its held-out ones if ``held_out``).

    Raises InputError if the data cannot be read or has no question with an answer.
    """
    if path.is_dir():
        return need_questions(beir_task(load_beir(path, split)), f"{path}, split {split}")
    where = "held-out articles (a tenth, chosen by title)" if held_out else "training articles"
    return need_questions(build_reqa(split_articles(load_paragraphs(path))[held_out]), f"{path}, {where}")


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
    """Return the task with a random sample of ``count`` questions; with all of them if ``count`` is None or no fewer."""
    if count is None or count >= len(task.questions):
        return task
    return _with_questions(task, sorted(random.Random(seed).sample(range(len(task.questions)), count)))


def questions_of_candidates(task: ReqaTask) -> dict[int, list[int]]:
    """The gold candidates in order, each with the numbers of its questions."""
    asked: dict[int, list[int]] = {}
    for number, golds in enumerate(task.gold):
        for gold in golds:
            asked.setdefault(gold, []).append(number)
    return dict(sorted(asked.items()))


def often_asked(task: ReqaTask, min_questions: int, where: str) -> ReqaTask:
    """Return the task with the questions about candidates that have at least ``min_questions`` (Wang et al. 2021, 4.5).

    All candidates stay. A question with several gold candidates is kept if one of them has that many questions; the others
    stay gold, because they answer it, too. Raises InputError with ``where`` if no candidate has that many questions.
    """
    kept = often_asked_numbers(task, min_questions)
    if not kept:
        largest = max(map(len, questions_of_candidates(task).values()), default=0)
        raise InputError(f"{where}: no answer sentence has {min_questions} questions: ask for {largest} at most")
    return _with_questions(task, kept)


def often_asked_numbers(task: ReqaTask, min_questions: int) -> list[int]:
    """The numbers of the questions that ``often_asked`` keeps."""
    asked = questions_of_candidates(task)
    return [number for number, golds in enumerate(task.gold) if max(len(asked[gold]) for gold in golds) >= min_questions]


def _with_questions(task: ReqaTask, kept: Sequence[int]) -> ReqaTask:
    return ReqaTask(task.passages, tuple(task.questions[i] for i in kept), tuple(task.gold[i] for i in kept))


def is_pair_file(path: Path) -> bool:
    """Return whether a file is a pair file (``datasets.pairs``), judged by its first row."""
    if not path.name.removesuffix(".gz").endswith(".jsonl"):
        return False
    return any("question" in row and "answer" in row for _, row in islice(read_jsonl(path), 1))
