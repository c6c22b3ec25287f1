"""DPR's training files: questions with positive, negative and hard negative passages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import need, optional, read_json, write_json


@dataclass(frozen=True, slots=True)
class Context:
    """A passage with its title and its retrieval score."""

    title: str
    text: str
    score: float = 0.0
    id: str = ""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A question with its answers, the passages that hold one, and passages that do not."""

    question: str
    answers: tuple[str, ...]
    positives: tuple[Context, ...]
    negatives: tuple[Context, ...]
    hard_negatives: tuple[Context, ...]


def load_dpr(path: Path) -> list[Retrieved]:
    """Read a DPR file (a JSON list). Raises InputError that names the malformed question."""
    content = read_json(path)
    if not isinstance(content, list):
        raise InputError(f"{path}: a DPR file is a JSON list of questions, but this is a {type(content).__name__}")
    rows = []
    for number, row in enumerate(content):
        where = f"{path}, question {number}"
        rows.append(
            Retrieved(
                need(row, "question", str, where),
                tuple(str(answer) for answer in optional(row, "answers", list, [], where)),
                *(_contexts(optional(row, key, list, [], where), f"{where}, {key}") for key in _KEYS),
            )
        )
    return rows


_KEYS = ("positive_ctxs", "negative_ctxs", "hard_negative_ctxs")


def _contexts(rows: Any, where: str) -> tuple[Context, ...]:
    return tuple(
        Context(
            optional(row, "title", str, "", where),
            need(row, "text", str, where),
            _score(row, where),
            str(row.get("passage_id", row.get("psg_id", ""))),
        )
        for row in rows
    )


def _score(row: dict[str, Any], where: str) -> float:
    """Return the row's score; DPR's own files write some as strings."""
    with suppress(TypeError, ValueError, OverflowError):
        score = float(row.get("score") or 0.0)
        if isfinite(score):
            return score
    raise InputError(f"{where}: 'score' is not a number")


def save_dpr(path: Path, rows: Iterable[Retrieved]) -> None:
    """Write a DPR file."""
    write_json(
        path,
        [
            {
                "question": row.question,
                "answers": list(row.answers),
                **{
                    key: [{"title": c.title, "text": c.text, "score": c.score, "passage_id": c.id} for c in contexts]
                    for key, contexts in zip(_KEYS, (row.positives, row.negatives, row.hard_negatives), strict=True)
                },
            }
            for row in rows
        ],
    )
