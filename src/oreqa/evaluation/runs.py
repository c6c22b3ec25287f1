"""A run's folder: writes and reads metrics.json, per_question.jsonl and run.trec."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import need, optional, read_json, read_jsonl, write_json, write_jsonl, write_text


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question's outcome: metrics as fractions, the ranks of its gold, and the best candidates with their scores.

    ``texts`` are those of the first candidates of ``top``; a candidate whose parts are ranked may occur more than once.
    ``answers`` are those of an answering task, best first, with their scores; ``best`` is the best one with its confidence,
    given or refused. ``ranks`` are empty if nothing is ranked.
    """

    id: str
    question: str
    metrics: Mapping[str, float]
    gold: Sequence[str]
    ranks: Sequence[float] = ()
    top: Sequence[tuple[str, float]] = ()
    texts: Sequence[str] = ()
    answers: Sequence[tuple[str, float]] = ()
    best: tuple[str, float | None] | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A saved evaluation: ``summary`` is metrics.json, ``questions`` the rows of per_question.jsonl by id."""

    name: str
    summary: Mapping[str, Any]
    questions: Mapping[str, Mapping[str, Any]]


def save_run(folder: Path, summary: Mapping[str, Any], results: Sequence[QuestionResult], tag: str) -> None:
    """Write the files of a run, metrics.json last: a folder that has it is complete."""
    write_jsonl(folder / "per_question.jsonl", (_row(result) for result in results))
    lines = [
        f"{_token(result.id)} Q0 {_token(candidate)} {rank} {score:.6f} {tag}\n"
        for result in results
        for rank, (candidate, score) in enumerate(_distinct(result.top), 1)
    ]
    write_text(folder / "run.trec", "".join(lines))
    write_json(folder / "metrics.json", summary)


def _row(result: QuestionResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "question": result.question,
        **{name: round(value, 6) for name, value in result.metrics.items()},
        **({"ranks": [None if math.isinf(rank) else rank for rank in result.ranks]} if result.ranks else {}),
        "gold": list(result.gold),
        **(
            {"answers": [{"text": text, "score": round(score, 4)} for text, score in result.answers]}
            if result.answers
            else {}
        ),
        **({"best": {"text": result.best[0], "confidence": result.best[1]}} if result.best else {}),
        "top": [
            {"candidate": candidate, "score": round(score, 6), "text": text}
            for (candidate, score), text in zip(result.top, result.texts, strict=False)
        ],
    }


def _distinct(top: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return each candidate at its first position: TREC's files name it once."""
    scores: dict[str, float] = {}
    for candidate, score in top:
        scores.setdefault(candidate, score)
    return list(scores.items())


def _token(text: str) -> str:
    """Return a text without blanks, which separate TREC's columns."""
    return "_".join(text.split()) or "_"


def load_run(folder: Path) -> Run:
    """Read a run's folder. Raises InputError if it is not one."""
    if not (folder / "metrics.json").is_file():
        raise InputError(f"{folder}: it is not a finished run; give a folder that `oreqa eval` wrote (--out)")
    file, place = folder / "per_question.jsonl", f"{folder / 'metrics.json'}"
    if not file.is_file() and (packed := folder / "per_question.jsonl.gz").is_file():
        file = packed
    rows = {need(row, "id", str, f"{file}, line {number}"): row for number, row in read_jsonl(file)}
    summary = read_json(folder / "metrics.json")
    need({place: summary}, place, dict, str(folder))
    measures = {name for row in rows.values() for name in row if name in summary}
    for name in measures:
        need(summary, name, float, place)
    for key, row in rows.items():
        optional(row, "question", str, "", f"{file}, question {key!r}")
        for name in measures:
            need(row, name, float, f"{file}, question {key!r}")
    return Run(str(folder), summary, rows)
