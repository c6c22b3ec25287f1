"""What no function can work with is an InputError, whatever it is."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from oreqa.arguments import (
    as_index_folder,
    as_path,
    as_paths,
    choice,
    conditions,
    count,
    passage_list,
    question_list,
    share,
)
from oreqa.errors import IndexStateError, InputError
from oreqa.files import need_writable, write_text
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.paths import full_path

DIGITS, WORD = 10**5000, np.array("x")


@pytest.mark.parametrize("call", [
    lambda: as_path("a\0b", "a file"),
    lambda: as_path(Path("a\0b"), "a file"),
    lambda: as_path(b"a", "a file"),
    lambda: as_paths(WORD),
    lambda: as_index_folder("kb\udce9"),
    lambda: as_index_folder(Path("kb\udce9")),
    lambda: Index.open("a\0b"),
    lambda: Index.open("a\udce9"),
    lambda: Index.open("a\nb\u2028\x1ec"),
    lambda: question_list(WORD),
    lambda: passage_list(WORD),
    lambda: conditions(WORD),
    lambda: conditions({"size": DIGITS}),
    lambda: conditions({"size": [1, -DIGITS]}),
    lambda: count(-DIGITS, "k"),
    lambda: share(DIGITS, "threshold"),
    lambda: choice(np.array([1, 2]), ("hybrid", "dense"), "mode"),
    lambda: choice(DIGITS, ("hybrid", "dense"), "mode"),
])  # fmt: skip
def test_what_is_no_argument_is_one_line(call: Callable[[], object]) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert len(str(raised.value).splitlines()) == 1
    assert "\0" not in str(raised.value)


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


ROWS: dict[str, dict[str, object]] = {
    "deep": {"field": _nested(100_000)},
    "deep text": {"text": _nested(100_000)},
    "digits": {"field": DIGITS},
    "digits in a list": {"field": [DIGITS]},
    "digits of the key": {"id": DIGITS},
    "no JSON": {"field": {"date": object()}, "id": "a"},
}


@pytest.mark.parametrize("row", ROWS)
def test_a_field_that_json_cannot_hold_is_one_line(tiny: Path, tmp_path: Path, row: str) -> None:
    with pytest.raises(InputError, match="document 1: a field cannot be written as JSON"):
        index_documents(tmp_path / "kb", {"text": "The tent.", **ROWS[row]}, Settings(str(tiny)))


def test_too_few_descriptors_are_no_damage(tiny: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "kb", ["The tent."], Settings(str(tiny)))
    Index.open(tmp_path / "kb").search("tent", mode="sparse")  # everything is imported
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 2, hard))
    taken: list[int] = []
    problems: list[str] = []
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for _ in range(12):
            try:
                Index.open(tmp_path / "kb").search("tent", mode="sparse")
                check_index(tmp_path / "kb")
            except IndexStateError as error:
                problems.append(str(error))
            if taken:
                os.close(taken.pop())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)
    assert problems
    assert [line for line in problems if "cannot be read" not in line] == []


@pytest.mark.parametrize("call", [
    lambda place: index_files(place / "kb", "notes"),
    lambda place: index_files("kb", place / "notes"),
    lambda place: Index.open("kb"),
    lambda place: write_text(Path("report.csv"), ""),
    lambda place: need_writable(Path("report.csv"), "--report"),
    lambda place: full_path(Path("notes")),
])  # fmt: skip
def test_a_relative_path_in_a_working_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[Path], object]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(InputError, match="the working folder is gone; change to another one, or write the whole path"):
        call(tmp_path)
