from __future__ import annotations

from pathlib import Path

import pytest

from oreqa import Answerer
from oreqa.index.documents import read_document
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings

STAFF = "name,city,age\nAnna,Berlin,41\nBen,Bonn,38\nCarl,Berlin,52\nDora,Ulm,29\nEmil,Berlin,52\n"
COUNT = "How many rows have the city Berlin?"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "staff.csv").write_text(STAFF)
    return tmp_path / "files"


def answerer(files: Path, fitted: Path) -> Answerer:
    index = files.parent / "kb"
    index_files(index, files, Settings(str(fitted)))
    return Answerer.load(index, reader=None)


def test_a_count_comes_with_the_rows_that_prove_it(files: Path, fitted: Path) -> None:
    reply = answerer(files, fitted).reply(COUNT)
    first = reply.answers[0]
    assert (first.text, first.form, first.certainty, first.confidence) == ("3", "computed", "computed", None)
    assert first.computation is not None
    assert (first.computation.operation, first.computation.looked_at) == ("count", 5)
    rows = first.computation.rows
    assert [row.text for _, row in rows] == [f"name: {who}" for who in (
        "Anna; city: Berlin; age: 41", "Carl; city: Berlin; age: 52", "Emil; city: Berlin; age: 52")]  # fmt: skip
    for passage, row in rows:
        (stored,) = read_document(files.parent / "kb", passage.document_key)
        assert stored.text[row.start : row.end] == row.text
    assert (first.start, first.end) == (rows[0][1].start, rows[0][1].end)
    assert all(answer.form != "computed" for answer in reply.answers[1:])


def test_the_highest_value_is_a_cell_and_all_of_a_tie_are_answers(files: Path, fitted: Path) -> None:
    answers = answerer(files, fitted).ask("Who is the oldest?", k=3)
    assert [(answer.text, answer.form) for answer in answers[:2]] == [("Carl", "computed"), ("Emil", "computed")]
    for answer in answers[:2]:
        (stored,) = read_document(files.parent / "kb", answer.passage.document_key)
        assert stored.text[answer.start : answer.end] == answer.text
        assert answer.sentence.text == stored.text
    assert len(answerer(files, fitted).ask("Who is the oldest?", k=1)) == 1


def test_only_rows_that_fulfil_the_conditions_are_counted(files: Path, fitted: Path) -> None:
    table_answerer = answerer(files, fitted)
    assert table_answerer.ask("How many rows are there?", k=1)[0].text == "5"
    assert table_answerer.ask("How many rows are there?", k=1, where={"city": "Bonn"})[0].text == "1"


def test_tables_that_say_different_things_answer_nothing(files: Path, fitted: Path) -> None:
    (files / "former.csv").write_text(STAFF.replace("Ben,Bonn", "Ben,Berlin"))
    assert all(answer.form != "computed" for answer in answerer(files, fitted).ask(COUNT, k=3))


def test_tables_that_say_the_same_answer(files: Path, fitted: Path) -> None:
    (files / "former.csv").write_text(STAFF.replace("29", "30"))
    assert answerer(files, fitted).ask(COUNT)[0].text == "3"


def test_a_computed_answer_is_explained(files: Path, fitted: Path) -> None:
    explanation = answerer(files, fitted).explain(COUNT)
    assert explanation.stage == "answered"
    assert explanation.reason == "“3” was computed from 5 rows of a table."
    assert explanation.log_odds == {}
