from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.datasets.counts import count_data
from oreqa.datasets.load import (
    answered_questions,
    data_kind,
    load_paragraphs,
    load_passages,
    load_question_file,
    load_task,
    load_training_pairs,
    questions_to_ask,
)
from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.paragraphs import is_held_out
from oreqa.errors import InputError
from oreqa.generation import generate_questions


def test_a_file_of_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a SQuAD file"):
        load_paragraphs(tmp_path / "a.txt")
    with pytest.raises(InputError, match="a table has no paragraphs"):
        load_paragraphs(tmp_path / "a.csv.gz")


def test_an_index_is_no_file_of_questions(tmp_path: Path) -> None:
    """The error names the command that makes questions from it."""
    index = tmp_path / "kb"
    (index / "search-000001").mkdir(parents=True)
    (index / "search-000001" / "manifest.json").write_text("{}")
    makes = f"{index}: it is an index, not a file of questions; .* oreqa generate --index {index} --out questions.json"
    for load in (data_kind, load_paragraphs, load_task, load_training_pairs, load_question_file, count_data):
        with pytest.raises(InputError, match=makes):
            load(index)
    with pytest.raises(InputError, match=makes):
        list(load_pairs(index))
    for use in (load_passages, lambda data: generate_questions(tmp_path / "q.jsonl", data=data)):
        with pytest.raises(InputError, match="it is an index, not a BEIR folder; name it as index"):
            use(index)


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


def test_the_kind_of_a_file_is_that_of_its_name_and_first_row(tmp_path: Path) -> None:
    rows = {
        "mrqa": {"header": {}},
        "questions": {"question": "a", "answers": ["x"]},
        "pairs": {"question": "a", "answer": "x"},
        "squad": {"question": "a"},
        "unknown": {"question": "a"},
    }
    for kind, row in rows.items():
        path = tmp_path / f"{kind}{ {'squad': '.json', 'unknown': '.txt'}.get(kind, '.jsonl') }"
        path.write_text(json.dumps(row) + "\n")
        assert data_kind(path) == kind
    assert data_kind(tmp_path) == "beir"


def test_a_table_holds_questions_or_pairs_by_its_columns(tmp_path: Path) -> None:
    for kind, line in {"questions": "id,Query,Answer\n", "pairs": "question,passage\n"}.items():
        (tmp_path / f"{kind}.CSV").write_text(line)
        assert data_kind(tmp_path / f"{kind}.CSV") == kind


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "question\nWho?\nWhy?\n"),
        ("q.tsv", "Who?\tAda\nWhy?\t\n"),
        ("q.jsonl", '{"question": "Who?"}\n{"question": "Why?", "answers": []}\n'),
    ],
)
def test_questions_to_ask_need_no_answers(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert questions_to_ask(tmp_path / name) == ["Who?", "Why?"]


def test_the_questions_of_a_file_with_the_paragraphs_that_they_are_asked_of(squad_file: Path, tmp_path: Path) -> None:
    everything = load_question_file(squad_file)
    parts = [load_question_file(squad_file, held_out) for held_out in (False, True)]
    assert sorted(q.id for part in parts for q in part.questions) == sorted(q.id for q in everything.questions)
    for read in (everything, *parts):
        for question, place in zip(read.questions, read.places, strict=True):
            paragraph_question = next(
                paragraph_question
                for paragraph_question in read.paragraphs[place].questions
                if paragraph_question.id == question.id
            )
            assert (question.text, question.answers) == (
                paragraph_question.text,
                tuple(gold.text for gold in paragraph_question.answers),
            )
    (tmp_path / "q.jsonl").write_text('{"question": "a", "answers": []}\n')
    listed = load_question_file(tmp_path / "q.jsonl")
    assert ([question.text for question in listed.questions], listed.paragraphs, listed.places) == (["a"], [], [])
    assert not listed.questions[0].is_answerable
    with pytest.raises(InputError, match=r"or a list of questions: a table \(.csv, .tsv, .xlsx\)"):
        load_question_file(tmp_path / "q.txt")


def test_training_pairs_of_a_pair_file_and_of_a_task(squad_file: Path, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"question": "a", "answer": "x"}\n')
    assert [pair.question for pair in load_training_pairs(tmp_path / "p.jsonl")] == ["a"]
    questions = {question.text for question in answered_questions(squad_file)}
    assert {pair.question for pair in load_training_pairs(squad_file)} == questions


def test_beir_folders_are_tasks_of_their_supporting_documents(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    rows = [
        ("d0", "T", "gold."),
        ("d1", "T", "of the same title."),
        ("d2", "", "alone"),
        ("d3", "U", "of nobody"),
        ("d4", "", " "),
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": i, "title": t, "text": x}) + "\n" for i, t, x in rows))
    (folder / "queries.jsonl").write_text(
        '{"_id": "a", "text": "Q"}\n{"_id": "b", "text": "Q"}\n{"_id": "c", "text": "R"}\n'
    )
    (folder / "qrels" / "train.tsv").write_text("a\td0\t1\nb\td2\t1\nb\td3\t0\nc\td4\t1\n")
    task = load_task(folder)
    assert [p.text for p in task.passages] == ["gold.", "of the same title.", "alone"]
    assert (task.questions, task.gold) == (("Q",), ((0, 2),))
    with pytest.raises(InputError, match="there is no such file"):
        load_task(tmp_path / "nothing.json")
    (folder / "qrels" / "none.tsv").write_text("a\td0\t0\n")
    with pytest.raises(InputError, match="split none: no question with an answer"):
        load_task(folder, "none")
