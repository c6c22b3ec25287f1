"""Question-answer pairs, gold and silver, in one file that people can read and edit.

Each line is a JSON object: ``question``; ``answer``, a sentence; ``context``, the passage that contains it; ``title``, the
passage's title with its heading; ``start``, the answer's offset in the context, if it is not the first occurrence;
``weight`` (the classifier's probability for silver; default 1); ``source``, ``score`` and ``rank`` of mined ones;
``negatives``, objects with ``answer``, ``context`` and ``title`` that do not answer the question; ``passage``, a name shared
by several forms of one passage.

A row without ``answer`` pairs a question with a whole passage, as written by other programs: ``question``, ``query`` or
``anchor``; ``passage``, ``context`` or ``positive``; and optionally ``negative``. A table has the same columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

from oreqa.core import Passage, Sentence
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.reqa import ReqaTask
from oreqa.datasets.tables import COLUMN_NAMES, is_table, table_rows
from oreqa.errors import InputError
from oreqa.files import need, optional, read_jsonl
from oreqa.paths import need_questions_file

GOLD, SILVER = "gold", "silver"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer a question, in its passage: ``context[start:end] == answer``.

    ``head`` is the line that models read before the context: the passage's title with its heading. The default ``start``
    is the first occurrence of the answer. Raises ValueError if the context does not contain it there.

    Examples:
        >>> Candidate("Its blood is blue.", "An octopus has three hearts. Its blood is blue.", "Octopus").start
        29
    """

    answer: str
    context: str
    head: str = ""
    start: int = -1

    def __post_init__(self) -> None:
        if self.start < 0:
            object.__setattr__(self, "start", self.context.index(self.answer))
        elif not self.context.startswith(self.answer, self.start):
            raise ValueError(f"the context does not hold the answer at {self.start}")

    @property
    def end(self) -> int:
        """The offset after the answer's last character."""
        return self.start + len(self.answer)


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a sentence that answers it; ``score`` and ``rank`` say how a mined one was ranked.

    Contexts that are forms of one passage, e.g. without some sentence, have the same ``passage``.
    """

    question: str
    positive: Candidate
    weight: float = 1.0
    source: str = GOLD
    score: float | None = None
    rank: int | None = None
    negatives: tuple[Candidate, ...] = ()
    passage: str = ""


def load_pairs(path: Path) -> Iterator[Pair]:
    """Read pairs from JSON lines or a table. Raises InputError naming the line of a mistake."""
    for where, row in read_pair_rows(path):
        if "data" in row and "question" not in row:
            raise InputError(f"{path}: it is a SQuAD file; make pairs of it with: oreqa mine negatives --data {path}")
        source = row.get("source", GOLD)
        if source not in (GOLD, SILVER):
            raise InputError(f"{where}: source is {source!r}; write {GOLD!r} or {SILVER!r}, or leave it out for gold")
        rows = optional(row, "negatives", list, [], where)
        negatives = tuple(_candidate(negative, f"{where}, negative {place}") for place, negative in enumerate(rows, 1))
        question = need(row, "question", str, where)
        if not question.strip():
            raise InputError(f"{where}: its question is empty")
        weight, score = _probability(row, "weight", 1.0, where), _probability(row, "score", None, where)
        passage = optional(row, "passage", str, "", where)
        yield Pair(question, _candidate(row, where), weight, source, score, _rank(row, where), negatives, passage)


def read_pair_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the places of pairs, and their rows in the form of ``pair_row``. Raises InputError for invalid rows."""
    need_questions_file(path, "questions.jsonl")
    if not is_table(path):
        yield from ((f"{path}, line {number}", _with_answer(row)) for number, row in read_jsonl(path))
        return
    for _, where, cells in table_rows(path):
        row: dict[str, Any] = {name: cells[name] for name in ("question", "title", "negative") if cells.get(name)}
        if "answers" in cells:
            row |= {"answer": cells["answers"], "context": cells.get("passage", cells["answers"])}
            yield where, _with_negatives(row)
        elif "passage" in cells:
            yield where, _with_answer(row | {"passage": cells["passage"]})
        else:
            raise InputError(f"{where}: it pairs its question with nothing; name a column passage, or answer")


def is_pair(row: Mapping[str, Any]) -> bool:
    """Return whether a JSON-lines row is a pair, not a question with answers; a mark has answers and an answer."""
    named = {name for part in ("question", "passage") for name in COLUMN_NAMES[part] if name in row}
    if "answers" in row or not named & set(COLUMN_NAMES["question"]):
        return False
    return "answer" in row or bool(named & set(COLUMN_NAMES["passage"]))


def _with_answer(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a pair with its whole passage as the answer, if it has no other."""
    if "answer" in row or not is_pair(row):
        return row
    question, passage = (next(row[name] for name in COLUMN_NAMES[part] if name in row) for part in ("question", "passage"))
    return _with_negatives({**row, "question": question, "answer": passage, "context": passage, "passage": ""})


def _with_negatives(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**row, "negatives": [row["negative"]]} if row.get("negative") and "negatives" not in row else row


@overload
def _probability(row: Mapping[str, Any], name: str, default: float, where: str) -> float: ...


@overload
def _probability(row: Mapping[str, Any], name: str, default: None, where: str) -> float | None: ...


def _probability(row: Mapping[str, Any], name: str, default: float | None, where: str) -> float | None:
    value = row.get(name, default)
    if value is None and default is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InputError(f"{where}: {name} is {value!r}; write a number from 0 to 1")
    return float(value)


def _rank(row: Mapping[str, Any], where: str) -> int | None:
    rank = row.get("rank")
    if rank is not None and (not isinstance(rank, int) or isinstance(rank, bool) or rank < 1):
        raise InputError(f"{where}: rank is {rank!r}; write a whole number from 1, or leave it out")
    return rank


def _candidate(row: Any, where: str) -> Candidate:
    if isinstance(row, str):
        row = {"answer": row}
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: write a text, or an object with answer and context")
    answer = need(row, "answer", str, where)
    context, head = optional(row, "context", str, answer, where), optional(row, "title", str, "", where)
    if not answer.strip():
        raise InputError(f"{where}: its answer is empty")
    start = optional(row, "start", int, None, where)
    try:
        if start is not None and start < 0:
            raise InputError(f"{where}: start is {start}; write the answer's first character in the context, from 0")
        return Candidate(answer, context, head, -1 if start is None else start)
    except ValueError:
        place = "" if start is None else f" at {start}"
        raise InputError(
            f"{where}: its answer does not stand in its context{place}; copy it from there letter by letter"
        ) from None


def pair_row(pair: Pair) -> dict[str, Any]:
    """Return a pair as a row of the file."""
    row: dict[str, Any] = {"question": pair.question, **_row(pair.positive), "weight": round(pair.weight, 4)}
    row["source"] = pair.source
    if pair.score is not None:
        row["score"] = round(pair.score, 4)
    if pair.rank is not None:
        row["rank"] = pair.rank
    if pair.negatives:
        row["negatives"] = [_row(negative) for negative in pair.negatives]
    if pair.passage:
        row["passage"] = pair.passage
    return row


def _row(candidate: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {"answer": candidate.answer, "context": candidate.context}
    if candidate.head:
        row["title"] = candidate.head
    if candidate.start != candidate.context.index(candidate.answer):
        row["start"] = candidate.start
    return row


def passage_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs with whole passages instead of sentences, each question with each passage once.

    Of a passage's pairs the best is used: gold before silver, then the one with the greatest weight. Negatives from the
    passage itself are dropped.
    """
    best: dict[tuple[str, Candidate], Pair] = {}
    for pair in pairs:
        passage = _whole(pair.positive)
        negatives = tuple(dict.fromkeys(whole for row in pair.negatives if (whole := _whole(row)) != passage))
        rival = best.get((pair.question, passage))
        if rival is None or (pair.source == GOLD, pair.weight) > (rival.source == GOLD, rival.weight):
            best[pair.question, passage] = replace(pair, positive=passage, negatives=negatives)
    return list(best.values())


def _whole(candidate: Candidate) -> Candidate:
    return Candidate(candidate.context, candidate.context, candidate.head)


def passage_candidates(passage: Passage) -> list[Candidate]:
    """Return the sentences of a passage as candidates, with the head that encoders read: its title and heading."""
    return [sentence_candidate(passage, sentence) for sentence in passage.sentences]


def sentence_candidate(passage: Passage, sentence: Sentence) -> Candidate:
    """Return one of a passage's sentences as a candidate."""
    head = passage_head(passage.title, passage.heading)
    return Candidate(sentence.text, passage.text, head, sentence.start - passage.start)


def task_candidates(task: ReqaTask) -> list[Candidate]:
    """Return the candidates of a task, by number."""
    return [candidate for passage in task.passages for candidate in passage_candidates(passage)]


def gold_pairs(task: ReqaTask) -> list[Pair]:
    """Return every question of a task with each of its gold sentences."""
    candidates = task_candidates(task)
    return [Pair(text, candidates[g]) for text, golds in zip(task.questions, task.gold, strict=True) for g in golds]
