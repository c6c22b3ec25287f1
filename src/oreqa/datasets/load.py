"""Data files of every supported format: their kind, their paragraphs, questions, passages and tasks."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.beir import load_beir, load_corpus
from oreqa.datasets.paragraphs import Paragraph, load_mrqa, load_squad, split_articles, whole_passages
from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.datasets.reqa import ReqaTask, beir_task, build_reqa, need_questions
from oreqa.errors import InputError
from oreqa.files import read_jsonl


def is_question_list(path: Path) -> bool:
    """Return whether a file is a question list, judged by its first row."""
    if not path.name.removesuffix(".gz").endswith(".jsonl"):
        return False
    return any("question" in row for _, row in islice(read_jsonl(path), 1))


def is_pair_file(path: Path) -> bool:
    """Return whether a file is a pair file (``datasets.pairs``), judged by its first row."""
    if not path.name.removesuffix(".gz").endswith(".jsonl"):
        return False
    return any("question" in row and "answer" in row for _, row in islice(read_jsonl(path), 1))


def load_paragraphs(path: Path) -> list[Paragraph]:
    """Read a SQuAD file (.json) or an MRQA file (.jsonl). Raises InputError for other extensions and malformed content."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        return load_mrqa(path)
    if name.endswith(".json"):
        return load_squad(path)
    raise InputError(f"{path}: give a SQuAD file (.json) or an MRQA file (.jsonl), plain or gzipped")


def read_passages(data: Path) -> list[Passage]:
    """The paragraphs of a SQuAD or MRQA file, or the documents of a BEIR folder, as a passage each, whatever is asked there.

    Raises InputError for data that cannot be read.
    """
    if data.is_dir():
        return [paragraph_passage(Document(entry.id, entry.title, entry.text)) for entry in load_corpus(data)]
    return whole_passages(load_paragraphs(data))


def answered_questions(path: Path, held_out: bool = False) -> list[OpenQuestion]:
    """The questions of a file that have an answer or a pattern: of a question list all, of a SQuAD or MRQA file those of its
    training articles, or of the ``held_out`` ones.

    Raises InputError that names the malformed row.
    """
    if is_question_list(path):
        return [question for question in load_question_list(path) if question.answers or question.pattern is not None]
    return [
        OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers))
        for paragraph in split_articles(load_paragraphs(path))[held_out]
        for question in paragraph.questions
        if question.answers
    ]


def load_task(path: Path, split: str = "train", held_out: bool = False) -> ReqaTask:
    """Load a BEIR folder's ``split``, or a SQuAD or MRQA file's training articles (its held-out ones if ``held_out``).

    Raises InputError if the data cannot be read or has no question with an answer.
    """
    if path.is_dir():
        return need_questions(beir_task(load_beir(path, split)), f"{path}, split {split}")
    where = "held-out articles (a tenth, chosen by title)" if held_out else "training articles"
    return need_questions(build_reqa(split_articles(load_paragraphs(path))[held_out]), f"{path}, {where}")
