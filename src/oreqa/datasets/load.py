"""Data files of every supported format: detects their kind, and loads paragraphs, questions, passages and tasks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.beir import load_beir, load_corpus
from oreqa.datasets.pairs import Pair, gold_pairs, is_pair, load_pairs
from oreqa.datasets.paragraphs import Paragraph, held_out_paragraphs, load_mrqa, load_squad, split_articles, whole_passages
from oreqa.datasets.questions import OpenQuestion, load_question_list, load_question_texts
from oreqa.datasets.reqa import ReqaTask, beir_task, build_reqa, need_questions
from oreqa.datasets.tables import is_table, table_columns
from oreqa.errors import InputError
from oreqa.files import read_jsonl
from oreqa.paths import need_questions_file

Kind = Literal["squad", "mrqa", "questions", "pairs", "beir", "unknown"]


def data_kind(path: Path) -> Kind:
    """Return the kind of a data folder or file by name and, for JSON lines and tables, by the first row; it may be gzipped.

    A table with a column of passages contains pairs, any other contains questions. Raises InputError for an index.
    """
    need_questions_file(path)
    name = path.name.lower().removesuffix(".gz")
    if path.is_dir():
        return "beir"
    if is_table(path):
        return "pairs" if "passage" in table_columns(path) else "questions"
    if not name.endswith(".jsonl"):
        return "squad" if name.endswith(".json") else "unknown"
    for _, row in islice(read_jsonl(path), 1):
        if is_pair(row):
            return "pairs"
        if "question" in row:
            return "questions"
    return "mrqa"


def load_paragraphs(path: Path) -> list[Paragraph]:
    """Read a SQuAD file (.json) or an MRQA file (.jsonl). Raises InputError for other extensions and malformed content."""
    if is_table(path):
        raise InputError(f"{path}: a table has no paragraphs, which this needs: give a SQuAD (.json) or MRQA file (.jsonl)")
    kind = data_kind(path)
    if kind in ("beir", "unknown"):
        raise InputError(f"{path}: give a SQuAD file (.json) or an MRQA file (.jsonl), plain or gzipped")
    return load_squad(path) if kind == "squad" else load_mrqa(path)  # its errors name rows of other kinds


def load_passages(path: Path) -> list[Passage]:
    """Return the paragraphs of a SQuAD or MRQA file, or the documents of a BEIR folder, as one passage each.

    Questions are ignored. Raises InputError for data that cannot be read.
    """
    if path.is_dir():
        return [paragraph_passage(Document(entry.id, entry.title, entry.text)) for entry in load_corpus(path)]
    return whole_passages(load_paragraphs(path))


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions of a file, and their paragraphs; a question list has none.

    ``places`` has the number of each question's paragraph.
    """

    questions: list[OpenQuestion]
    paragraphs: list[Paragraph]
    places: list[int]


def load_question_file(path: Path, held_out: bool | None = None) -> QuestionFile:
    """Read all questions of a list, or those of a SQuAD or MRQA file.

    Of the latter, those of its training articles, of its ``held_out`` ones, or of all (None). Raises InputError for another
    file type, and naming a malformed row.
    """
    need_questions_file(path, "questions.jsonl")
    kind = data_kind(path)
    if kind in ("questions", "pairs"):
        return QuestionFile(load_question_list(path), [], [])
    if kind in ("beir", "unknown"):
        raise InputError(
            f"{path}: give a SQuAD file (.json), an MRQA file (.jsonl), or a list of questions: a table (.csv, .tsv, .xlsx) "
            'with the columns question and answer, or .jsonl, a row each, as {"question": "Who?", "answers": ["Ada"]}'
        )
    paragraphs = load_paragraphs(path)
    if held_out is not None:
        paragraphs = _part(paragraphs, path, held_out)
    placed = [(place, question) for place, paragraph in enumerate(paragraphs) for question in paragraph.questions]
    questions = [OpenQuestion(q.id, q.text, tuple(gold.text for gold in q.answers)) for _, q in placed]
    return QuestionFile(questions, paragraphs, [place for place, _ in placed])


def questions_to_ask(path: Path) -> list[str]:
    """Return all questions of a list, a table, or a SQuAD or MRQA file, answered or not. Raises InputError."""
    if data_kind(path) in ("questions", "pairs"):
        return load_question_texts(path)
    return [question.text for question in load_question_file(path).questions]


def answered_questions(path: Path, held_out: bool = False) -> list[OpenQuestion]:
    """Return the questions of ``load_question_file`` that have an answer or a pattern."""
    return [question for question in load_question_file(path, held_out).questions if question.is_answerable]


def load_task(path: Path, split: str = "train", held_out: bool = False) -> ReqaTask:
    """Load a BEIR folder's ``split``, or a SQuAD or MRQA file's training articles (its held-out ones if ``held_out``).

    Raises InputError if the data cannot be read or has no question with an answer.
    """
    if path.is_dir():
        return need_questions(beir_task(load_beir(path, split)), f"{path}, split {split}")
    where = "held-out articles (a tenth, chosen by title)" if held_out else "training articles"
    return need_questions(build_reqa(_part(load_paragraphs(path), path, held_out)), f"{path}, {where}")


def _part(paragraphs: list[Paragraph], path: Path, held_out: bool) -> list[Paragraph]:
    return held_out_paragraphs(paragraphs, path) if held_out else split_articles(paragraphs)[0]


def load_training_pairs(path: Path) -> list[Pair]:
    """Return the pairs of a pair file, gold and silver, or the gold pairs of a task (``load_task``).

    Raises InputError naming what cannot be read.
    """
    return list(load_pairs(path)) if data_kind(path) == "pairs" else gold_pairs(load_task(path))
