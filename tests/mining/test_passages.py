"""Passages for questions whose answers are known: the first that holds one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.pairs import GOLD, load_pairs
from oreqa.datasets.questions import OpenQuestion
from oreqa.errors import InputError
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.mining import mine_passages
from oreqa.mining.passages import first_match

TEXTS = [("Cities", "Parisians love cafés."), ("Seine", "The Seine, of Paris, is long; Paris is old."), ("", "Paris")]


def test_an_answer_is_taken_where_it_first_stands_as_a_whole_word() -> None:
    pair = first_match(OpenQuestion("1", "Which city?", ("London", "Paris")), TEXTS)
    assert pair is not None
    assert (pair.question, pair.positive.answer, pair.positive.head) == ("Which city?", "Paris", "Seine")
    assert pair.positive.start == TEXTS[1][1].index("Paris")
    assert pair.source == GOLD  # a generator passes silver pairs over


def test_a_pattern_is_matched() -> None:
    pair = first_match(OpenQuestion("1", "What is long?", (), "sei[mn]e"), TEXTS)
    assert pair is not None
    assert (pair.positive.answer, pair.positive.start) == ("Seine", 4)


def test_a_question_without_a_match_has_no_pair() -> None:
    assert first_match(OpenQuestion("1", "Which city?", ("Rome",)), TEXTS) is None
    assert first_match(OpenQuestion("1", "Which city?", ("Rome",)), []) is None


@pytest.fixture
def question_file(tmp_path: Path) -> Path:
    rows = [("What do foxes eat?", ["Mice"]), ("Who is tall?", ["giraffes"]), ("Where?", ["Atlantis"])]
    file = tmp_path / "asked.jsonl"
    file.write_text("".join(json.dumps({"question": text, "answers": answers}) + "\n" for text, answers in rows))
    return file


def test_the_function_and_its_command_write_the_pairs_of_the_index(tiny: Path, question_file: Path, tmp_path: Path) -> None:
    texts = ["A fox eats mice at night.", "Among mammals giraffes are tall."]
    every = [*texts, "Who is tall? Tall is who is tall."]
    passages = [paragraph_passage(Document(str(number), "", text)) for number, text in enumerate(every)]
    index_passages(tmp_path / "kb", passages, Settings(model=str(tiny))).close()
    assert mine_passages(question_file, tmp_path / "f.jsonl", index=tmp_path / "kb") == 2
    pairs = list(load_pairs(tmp_path / "f.jsonl"))
    assert [(pair.positive.answer, pair.positive.context) for pair in pairs] == [("mice", texts[0]), ("giraffes", texts[1])]
    command = ["mine", "passages", "--data", question_file, "--index", tmp_path / "kb", "--out", tmp_path / "c.jsonl"]
    result = CliRunner().invoke(app, [*map(str, command), "--json"])
    assert json.loads(result.stdout) == {"pairs": 2, "out": str(tmp_path / "c.jsonl")}
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "f.jsonl").read_bytes()
    assert mine_passages(question_file, tmp_path / "first.jsonl", index=tmp_path / "kb", passages=1, mode="sparse") == 1
    assert [pair.question for pair in load_pairs(tmp_path / "first.jsonl")] == ["What do foxes eat?"]


def test_no_file_is_overwritten_not_even_the_questions(question_file: Path, tmp_path: Path) -> None:
    before = question_file.read_text()
    with pytest.raises(InputError, match=r"asked\.jsonl: it exists already; name another file"):
        mine_passages(question_file, question_file, index=tmp_path / "kb")
    assert question_file.read_text() == before


def test_data_without_an_answered_question_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text('{"question": "Where?", "answers": []}\n')
    with pytest.raises(InputError, match="it holds no question with an answer"):
        mine_passages(tmp_path / "asked.jsonl", tmp_path / "out.jsonl", index=tmp_path / "kb")


def test_questions_that_no_passage_answers_are_an_error(tiny: Path, question_file: Path, tmp_path: Path) -> None:
    passage = paragraph_passage(Document("1", "", "An octopus has three hearts."))
    index_passages(tmp_path / "kb", [passage], Settings(model=str(tiny))).close()
    with pytest.raises(InputError, match=r"none of its 3 questions has an answer in the passages retrieved from .*kb; name"):
        mine_passages(question_file, tmp_path / "out.jsonl", index=tmp_path / "kb")
    assert not (tmp_path / "out.jsonl").exists()
    with pytest.raises(InputError, match="passages"):
        mine_passages(question_file, tmp_path / "out.jsonl", index=tmp_path / "kb", passages=0)
