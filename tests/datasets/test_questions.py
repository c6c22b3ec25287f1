from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.datasets.questions import OpenQuestion, answer_ranges, load_question_list
from oreqa.errors import InputError


def test_answers_stand_as_whole_words_and_overlap_in_order() -> None:
    text = "New York is in New  York State; a newyorker lives in new york."
    question = OpenQuestion("1", "where", ("New York", "New York State", "state", " "))
    ranges = answer_ranges(text, question)
    assert [text[start:end] for start, end in ranges] == ["New York", "New  York", "New  York State", "State", "new york"]
    assert answer_ranges(text, OpenQuestion("2", "where", ("ork",))) == []


def test_every_match_of_a_pattern_but_empty_ones() -> None:
    text = "In 1912 and 1913,\n1914."
    question = OpenQuestion("1", "when", (), r"19\d\d|x*")
    assert [text[start:end] for start, end in answer_ranges(text, question)] == ["1912", "1913", "1914"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"question": "a", "answers": ["x"], "id": None}], "line 1: 'id' is NoneType, not str"),
        ([{"question": "a", "answers": [None]}], "line 1: an answer is null, not a string"),
        ([{"question": "a", "answers": [["x"]]}], r'line 1: an answer is \["x"\], not a string'),
        ([{"question": "a", "answers": ["x"], "id": "7"}] * 2, "line 2: its id '7' is that of line 1, too"),
        ([{"question": "a", "pattern": "x", "id": 2}, {"question": "b", "pattern": "y"}], "line 2: its id '2' is that of"),
        ([{"question": "a", "pattern": "("}], r"line 1: '\(' is not a regular expression \("),
    ],
)
def test_a_list_with_unusable_ids_or_answers_is_refused(tmp_path: Path, rows: list[object], message: str) -> None:
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=rf"q\.jsonl, {message}"):
        load_question_list(tmp_path / "q.jsonl")


def test_the_answer_to_a_generated_question_is_its_span(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    row = {"question": "Which port?", "answer": "It uses port 520.", "context": "It uses port 520.", "span": "520"}
    file.write_text(json.dumps(row) + "\n")
    assert [question.answers for question in load_question_list(file)] == [("520",)]


def test_a_question_without_an_id_has_the_number_of_its_line(tmp_path: Path) -> None:
    rows = [{"question": "a", "answers": ["x", 1912]}, {"question": "b", "pattern": "y", "id": 7}]
    (tmp_path / "q.jsonl").write_text("\n" + "".join(json.dumps(row) + "\n" for row in rows))
    questions = load_question_list(tmp_path / "q.jsonl")
    assert [(question.id, question.answers) for question in questions] == [("2", ("x", "1912")), ("7", ())]


def test_question_lists(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "a", "answers": ["b"]}\n{"id": "7", "question": "c", "pattern": "d"}\n')
    assert load_question_list(path) == [OpenQuestion("1", "a", ("b",)), OpenQuestion("7", "c", (), "d")]
    path.write_text('{"question": "a", "answer": "b"}\n{"question": "c", "answer": ""}\n')
    assert load_question_list(path) == [OpenQuestion("1", "a", ("b",)), OpenQuestion("2", "c", ())]
    path.write_text('{"question": "a"}\n')
    with pytest.raises(InputError, match="line 1: it has neither answers nor a pattern"):
        load_question_list(path)
