"""Question lists for open question answering: JSON lines of ``{question, answers | pattern}``, or a table of such rows.

A row may also have the ``document`` with the answer, the ``collection``, and the ``kind`` of question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.datasets.tables import is_table, table_questions
from oreqa.errors import InputError
from oreqa.files import need, need_id, optional, read_jsonl
from oreqa.text.answers import match_pattern, normalize_answer, occurrences, pattern_occurrences


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question to answer from a collection, with its answers or a regular expression that correct answers match.

    Without both, the collection has no answer. ``document`` is the end of a path, or a pattern with ``*``.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    pattern: str | None = None
    document: str | None = None
    collection: str | None = None
    kind: str | None = None

    @property
    def is_answerable(self) -> bool:
        """Whether the question has an accepted answer."""
        return bool(self.answers) or self.pattern is not None


def load_question_list(path: Path) -> list[OpenQuestion]:
    """Read a question list. An empty list of answers marks an unanswerable question.

    The file is JSON lines, or a table, in which an empty cell is an empty list. The default id is the line number, or the
    row number in a workbook. Raises InputError naming a malformed row, or a row with a repeated id.
    """
    questions: list[OpenQuestion] = []
    lines: dict[str, int] = {}
    for number, where, row in _rows(path):
        question = _open_question(row, where, number)
        if (line := lines.setdefault(question.id, number)) != number:
            raise InputError(f"{where}: its id {question.id!r} is that of line {line}, too; ids must differ")
        questions.append(question)
    return questions


def load_question_texts(path: Path) -> list[str]:
    """Return only the question texts of a list, answered or not. Raises InputError naming the malformed row."""
    return [need(row, "question", str, where) for _, where, row in _rows(path)]


def _rows(path: Path) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    if is_table(path):
        return table_questions(path)
    return ((number, f"{path}, line {number}", row) for number, row in read_jsonl(path))


def answer_ranges(text: str, question: OpenQuestion) -> list[tuple[int, int]]:
    """Return the ranges of ``text`` with an answer as whole words, or where the pattern matches; in rising order."""
    if question.pattern is not None:
        return pattern_occurrences(text, question.pattern)
    return sorted({span for answer in question.answers for span in occurrences(text, answer)})


def is_exact(answer: str, question: OpenQuestion) -> bool:
    """Return whether an answer equals one of the question's after normalisation, or matches its pattern from the start."""
    if question.pattern is not None:
        return match_pattern(answer, question.pattern)
    return normalize_answer(answer) in {normalize_answer(gold) for gold in question.answers}


def _open_question(row: Mapping[str, Any], where: str, number: int) -> OpenQuestion:
    text = need(row, "question", str, where)
    pattern = optional(row, "pattern", str, None, where)
    answers = optional(row, "answers", list, None, where)
    answer = row.get("span", row.get("answer"))  # of a generated pair the answer is the sentence
    if answers is None and isinstance(answer, str):
        answers = [answer] if answer else []
    if answers is None and pattern is None:
        raise InputError(f"{where}: it has neither answers nor a pattern; write answers, empty if there are none")
    if pattern is not None:
        try:
            pattern_occurrences("", pattern)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    for answer in answers or ():
        if not isinstance(answer, str | int) or isinstance(answer, bool):
            raise InputError(f"{where}: an answer is {json.dumps(answer)[:40]}, not a string")
    name = need_id(row, "id", where) if "id" in row else str(number)
    labels = {name: optional(row, name, str, None, where) for name in ("document", "collection", "kind")}
    return OpenQuestion(name, text, tuple(map(str, answers or ())), pattern, **labels)
