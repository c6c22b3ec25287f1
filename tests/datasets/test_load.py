from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.datasets.load import answered_questions, load_paragraphs
from oreqa.datasets.paragraphs import is_held_out
from oreqa.errors import InputError


def test_a_file_of_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a SQuAD file"):
        load_paragraphs(tmp_path / "a.csv")


def test_questions_of_a_list_with_an_answer_or_a_pattern(tmp_path: Path) -> None:
    rows = [{"question": "a", "answers": ["x"]}, {"question": "b", "answers": []}, {"question": "c", "pattern": "y"}]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for held_out in (False, True):
        assert [question.text for question in answered_questions(tmp_path / "q.jsonl", held_out)] == ["a", "c"]


def test_questions_of_articles_that_are_held_out_or_not(squad_file: Path) -> None:
    for held_out in (False, True):
        paragraphs = [paragraph for paragraph in load_paragraphs(squad_file) if is_held_out(paragraph) == held_out]
        expected = [question.id for paragraph in paragraphs for question in paragraph.questions]
        assert expected
        assert [question.id for question in answered_questions(squad_file, held_out)] == expected
