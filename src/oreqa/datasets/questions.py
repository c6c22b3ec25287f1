"""Questions to be answered from a collection, and lists of them: JSON lines of ``{question, answers | pattern}``.

A row may also name the ``document`` that holds the answer, the ``collection`` and the ``kind`` of question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import need, optional, read_jsonl


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question to be answered from a collection: its answers, or a regular expression that right ones match.

    Without either the collection does not hold an answer. ``document`` is the end of a path, or a pattern with ``*``.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    pattern: str | None = None
    document: str | None = None
    collection: str | None = None
    kind: str | None = None


def is_question_list(path: Path) -> bool:
    """Whether a file holds rows of questions without paragraphs: ``{question, answers | pattern}``."""
    if not path.name.removesuffix(".gz").endswith(".jsonl"):
        return False
    return any("question" in row for _, row in islice(read_jsonl(path), 1))


def load_question_list(path: Path) -> list[OpenQuestion]:
    """The questions of a list; those with an empty list of answers cannot be answered.

    Raises InputError that names the row of a mistake.
    """
    return [_open_question(row, f"{path}, line {number}", number) for number, row in read_jsonl(path)]


def _open_question(row: Mapping[str, Any], where: str, number: int) -> OpenQuestion:
    text = need(row, "question", str, where)
    pattern = optional(row, "pattern", str, None, where)
    answers = optional(row, "answers", list, None, where)
    if answers is None and pattern is None:
        raise InputError(f"{where}: it has neither answers nor a pattern")
    labels = {name: optional(row, name, str, None, where) for name in ("document", "collection", "kind")}
    return OpenQuestion(str(row.get("id", number)), text, tuple(map(str, answers or ())), pattern, **labels)
