"""People's judgements of answers: the marks of an index, one row per question, in a file that ``oreqa eval openqa``
reads."""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from oreqa.errors import InputError
from oreqa.files import need, optional, read_jsonl, write_bytes
from oreqa.locks import lock_file

MARKS_FILE, UNDECIDED_FILE, _LOCK = "marks.jsonl", "undecided.jsonl", "marks.lock"
"""Files in an index's folder: marks, and questions whose answer was wrong, without the right one."""

Verdict = Literal["right", "corrected", "none", "wrong"]
"""The answer is right; this is the right one; the documents have none; or it is wrong, and the right one is not known."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_AROUND = ",;:?!\"'“”„‘’‚«»¿¡،؛؟।。、"
"""Punctuation before and after words."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A question with its right ``answers``; none if the documents have none.

    ``answer`` is the sentence, ``context`` the passage and ``start`` the offset of the answer in it; ``title`` and
    ``document`` are the document's. ``given_answer`` is what had been answered, ``time`` when the mark was set (UTC).
    """

    id: str
    question: str
    answers: tuple[str, ...]
    verdict: Verdict
    time: str
    document: str | None = None
    answer: str = ""
    context: str = ""
    title: str = ""
    start: int = 0
    given_answer: str = ""


def question_id(question: str) -> str:
    """Return an id that equal questions share, ignoring case, white space and punctuation around words.

    A full stop before a word counts, as in ".5" and ".NET", and so do signs within words, as in "1.5" and "C++".

    Examples:
        >>> question_id("How long is it?") == question_id("how long is  it")
        True
        >>> question_id("What is C++?") == question_id("What is C#?")
        False
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", question).casefold())
    words = (word.lstrip(_AROUND).rstrip(_AROUND + ".") for word in folded.split())
    return hashlib.sha256(" ".join(filter(None, words)).encode()).hexdigest()[:16]


def mark_json(mark: Mark) -> dict[str, Any]:
    """Return a mark as stored in the file."""
    return {name.removesuffix("_answer"): value for name, value in asdict(mark).items()}


def read_marks(folder: Path, file: str = MARKS_FILE) -> list[Mark]:
    """Return the marks of an index, oldest first. Raises InputError for a damaged file."""
    path = folder / file
    return [_mark(row, f"{path}, line {number}") for number, row in read_jsonl(path)] if path.exists() else []


def set_mark(folder: Path, mark: Mark) -> None:
    """Set the mark of a question, replacing an earlier one.

    Raises InputError if the index's folder cannot be written.
    """
    _put(folder, mark.id, mark)


def remove_mark(folder: Path, name: str) -> bool:
    """Remove the mark of a question, by its id; return False if there was none."""
    exists = any(each.id == name for file in (MARKS_FILE, UNDECIDED_FILE) for each in read_marks(folder, file))
    if exists:
        _put(folder, name, None)
    return exists


def _put(folder: Path, name: str, mark: Mark | None) -> None:
    """Replace all marks of a question, by its id, with a mark or none.

    Both files are read before one is written, and the one that gains a mark is written first, so that nothing is lost if the
    other cannot be written.
    """
    target = UNDECIDED_FILE if mark is not None and mark.verdict == "wrong" else MARKS_FILE
    try:
        with lock_file(folder / _LOCK, wait=True):
            files = sorted((MARKS_FILE, UNDECIDED_FILE), key=lambda file: file != target)
            before = {file: read_marks(folder, file) for file in files}
            for file, marks in before.items():
                after = [each for each in marks if each.id != name]
                after += [mark] if mark is not None and file == target else []
                if after != marks:
                    _write(folder / file, after)
    except OSError as error:
        path = folder / target
        raise InputError(f"{path}: it cannot be written ({error.strerror}); marks need a folder that can") from error


def _write(path: Path, marks: list[Mark]) -> None:
    if not path.exists():  # the replacement keeps its mode
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    write_bytes(path, b"".join(json.dumps(mark_json(mark), ensure_ascii=False).encode() + b"\n" for mark in marks))


def _mark(row: dict[str, Any], where: str) -> Mark:
    verdict, answers = need(row, "verdict", str, where), need(row, "answers", list, where)
    if verdict not in VERDICTS or not all(isinstance(answer, str) for answer in answers):
        raise InputError(f"{where}: it is no mark: its verdict is one of {', '.join(VERDICTS)}, its answers are texts")
    question = need(row, "question", str, where)
    return Mark(
        question_id(question),  # not the stored id: what makes questions equal may have changed since
        question,
        tuple(answers),
        verdict,
        optional(row, "time", str, "", where),
        optional(row, "document", str, None, where),
        optional(row, "answer", str, "", where),
        optional(row, "context", str, "", where),
        optional(row, "title", str, "", where),
        optional(row, "start", int, 0, where),
        optional(row, "given", str, "", where),
    )
