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


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is C++?", "What is C#?"),
        ("What is C++?", "What is C?"),
        ("Is it -5 or more?", "Is it 5 or more?"),
        ("Is it .5 kg?", "Is it 5 kg?"),
        ("What costs 1.5 kg?", "What costs 1 5 kg?"),
        ("कि?", "का?"),
        ("ที่", "ท่า"),
        ("Is it 5 €?", "Is it 5 £?"),
    ],
)
def test_questions_that_differ_in_a_sign_or_a_mark_are_not_equal(one: str, other: str) -> None:
    assert question_id(one) != question_id(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How long?", "how  LONG ?"),
        ("What is the café fee?", "What is the cafe\u0301 fee"),
        ("Who said “yes”, and why?", 'who said "yes" and why'),
        ("Ｈｏｗ long？", "how long"),
        ("Wo ist die Straße?", "WO IST DIE STRASSE?"),
    ],
)
def test_questions_that_differ_in_case_and_sentence_signs_are_equal(one: str, other: str) -> None:
    assert question_id(one) == question_id(other)


def test_an_id_that_was_stored_by_another_rule_is_computed_anew(tmp_path: Path) -> None:
    (tmp_path / MARKS_FILE).write_text('{"id": "old", "question": "How long?", "answers": [], "verdict": "none"}\n')
    assert [mark.id for mark in read_marks(tmp_path)] == [RIGHT.id]
    set_mark(tmp_path, RIGHT)
    assert read_marks(tmp_path) == [RIGHT]


def test_a_correction_that_is_called_wrong_is_gone(tmp_path: Path) -> None:
    wrong = replace(RIGHT, answers=(), verdict="wrong")
    set_mark(tmp_path, replace(RIGHT, verdict="corrected"))
    set_mark(tmp_path, wrong)
    assert (read_marks(tmp_path), read_marks(tmp_path, UNDECIDED_FILE)) == ([], [wrong])


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
