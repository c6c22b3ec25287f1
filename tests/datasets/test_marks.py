from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from oreqa.datasets.marks import MARKS_FILE, UNDECIDED_FILE, Mark, question_id, read_marks, remove_mark, set_mark
from oreqa.datasets.questions import load_question_list
from oreqa.errors import InputError

RIGHT = Mark(question_id("How long?"), "How long?", ("two years",), "right", "2026-01-02T03:04:05+00:00", "a.md", "It lasts two years.",
             "It lasts two years.", "A", 9, "two")  # fmt: skip


def test_a_question_has_one_mark_and_evaluation_reads_it(tmp_path: Path) -> None:
    assert read_marks(tmp_path) == []
    none = Mark(question_id("Who paid?"), "Who paid?", (), "none", "2026-01-02T03:04:06+00:00")
    set_mark(tmp_path, RIGHT)
    set_mark(tmp_path, none)
    other = replace(RIGHT, question="how LONG", answers=("three years",), verdict="corrected")
    set_mark(tmp_path, other)
    assert read_marks(tmp_path) == [none, other]
    questions = load_question_list(tmp_path / MARKS_FILE)
    assert [(q.id, q.text, q.answers, q.document) for q in questions] == [
        (none.id, "Who paid?", (), None), (RIGHT.id, "how LONG", ("three years",), "a.md"),
    ]  # fmt: skip
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / MARKS_FILE).stat().st_mode) == 0o600


def test_a_wrong_answer_without_the_right_one_is_kept_apart(tmp_path: Path) -> None:
    set_mark(tmp_path, replace(RIGHT, answers=(), verdict="wrong"))
    assert read_marks(tmp_path) == []
    assert [mark.verdict for mark in read_marks(tmp_path, UNDECIDED_FILE)] == ["wrong"]
    set_mark(tmp_path, RIGHT)  # somebody has said what is right
    assert (read_marks(tmp_path), read_marks(tmp_path, UNDECIDED_FILE)) == ([RIGHT], [])
    set_mark(tmp_path, replace(RIGHT, answers=(), verdict="wrong"))
    assert remove_mark(tmp_path, RIGHT.id)
    assert not remove_mark(tmp_path, RIGHT.id)
    assert read_marks(tmp_path, UNDECIDED_FILE) == []


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    set_mark(tmp_path, RIGHT)
    with (tmp_path / MARKS_FILE).open("a") as file:
        file.write('{"id": "x", "question": "y", "answers": [], "verdict": "maybe"}\n')
    with pytest.raises(InputError, match="line 2: it is no mark"):
        read_marks(tmp_path)
    with pytest.raises(InputError, match="line 2"):
        set_mark(tmp_path, RIGHT)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="marks need a folder that can"):
        set_mark(tmp_path / "file", RIGHT)
