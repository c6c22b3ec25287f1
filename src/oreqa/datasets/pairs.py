"""Question-answer pairs, gold and silver in one file that people can read and edit.

One JSON object a line: ``question``; ``answer``, a sentence; ``context``, the passage it stands in, and ``title``;
``start``, the answer's first character in the context, where it is not its first occurrence;
``weight`` (the classifier's probability for silver; 1 if left out); ``source``, ``score`` and ``rank`` of mined ones; and
``negatives``, objects of ``answer``, ``context`` and ``title`` that do not answer the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.core import Passage
from oreqa.datasets.reqa import ReqaTask
from oreqa.errors import InputError
from oreqa.files import need, optional, read_jsonl

GOLD, SILVER = "gold", "silver"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer a question, in its passage: ``context[start:end] == answer``.

    Without a ``start`` it is the first occurrence of the answer. Raises ValueError if the context does not hold it there.

    >>> Candidate("Its blood is blue.", "An octopus has three hearts. Its blood is blue.", "Octopus").start
    29
    """

    answer: str
    context: str
    title: str = ""
    start: int = -1

    def __post_init__(self) -> None:
        if self.start < 0:
            object.__setattr__(self, "start", self.context.index(self.answer))
        elif not self.context.startswith(self.answer, self.start):
            raise ValueError(f"the context does not hold the answer at {self.start}")

    @property
    def end(self) -> int:
        """Behind the answer's last character."""
        return self.start + len(self.answer)


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a sentence that answers it; ``score`` and ``rank`` say how a mined one was found."""

    question: str
    positive: Candidate
    weight: float = 1.0
    source: str = GOLD
    score: float | None = None
    rank: int | None = None
    negatives: tuple[Candidate, ...] = ()


def load_pairs(path: Path) -> Iterator[Pair]:
    """Read pairs. Raises InputError that names the line of a mistake."""
    for number, row in read_jsonl(path):
        where = f"{path}, line {number}"
        weight = row.get("weight", 1.0)
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight <= 1:
            raise InputError(f"{where}: weight is {weight!r}; write a number from 0 to 1")
        source = row.get("source", GOLD)
        if source not in (GOLD, SILVER):
            raise InputError(f"{where}: source is {source!r}; write {GOLD!r} or {SILVER!r}, or leave it out for gold")
        rows = optional(row, "negatives", list, [], where)
        negatives = tuple(_candidate(negative, f"{where}, negatives") for negative in rows)
        score, rank = optional(row, "score", float, None, where), optional(row, "rank", int, None, where)
        yield Pair(
            need(row, "question", str, where), _candidate(row, where), float(weight), source,
            None if score is None else float(score), rank, negatives,
        )  # fmt: skip


def _candidate(row: Any, where: str) -> Candidate:
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: write an object with answer and context")
    answer = need(row, "answer", str, where)
    context, title = optional(row, "context", str, answer, where), optional(row, "title", str, "", where)
    if not answer.strip():
        raise InputError(f"{where}: its answer is empty")
    start = optional(row, "start", int, None, where)
    try:
        return Candidate(answer, context, title, -1 if start is None else max(0, start))
    except ValueError:
        place = "" if start is None else f" at {start}"
        raise InputError(
            f"{where}: its answer does not stand in its context{place}; copy it from there letter by letter"
        ) from None


def pair_row(pair: Pair) -> dict[str, Any]:
    """A pair as a line of the file."""
    row: dict[str, Any] = {"question": pair.question, **_row(pair.positive), "weight": round(pair.weight, 4)}
    row["source"] = pair.source
    if pair.score is not None:
        row["score"] = round(pair.score, 4)
    if pair.rank is not None:
        row["rank"] = pair.rank
    if pair.negatives:
        row["negatives"] = [_row(negative) for negative in pair.negatives]
    return row


def _row(candidate: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {"answer": candidate.answer, "context": candidate.context}
    if candidate.title:
        row["title"] = candidate.title
    if candidate.start != candidate.context.index(candidate.answer):
        row["start"] = candidate.start
    return row


def passage_candidates(passage: Passage) -> list[Candidate]:
    """The sentences of a passage as candidates."""
    return [Candidate(s.text, passage.text, passage.title, s.start - passage.start) for s in passage.sentences]


def task_candidates(task: ReqaTask) -> list[Candidate]:
    """The candidates of a task, by their numbers."""
    return [candidate for passage in task.passages for candidate in passage_candidates(passage)]


def gold_pairs(task: ReqaTask) -> list[Pair]:
    """Every question of a task with each of its gold sentences."""
    candidates = task_candidates(task)
    return [Pair(text, candidates[g]) for text, golds in zip(task.questions, task.gold, strict=True) for g in golds]
