"""A question equal to a marked one shows its corrected answer first, while the passage stands."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oreqa.answering import Answerer
from oreqa.cli import app
from oreqa.datasets.marks import MARKS_FILE, Mark, question_id, set_mark
from oreqa.errors import InputError
from oreqa.evaluation import evaluate_openqa
from oreqa.index.ingest import index_files

QUESTION = "How many arms has an octopus?"
ASKED_OTHERWISE = "how many ARMS has an octopus"
PASSAGE = "It has eight arms."


@pytest.fixture
def kb(tmp_path: Path, library: Path, fitted: Path) -> Path:
    index_files(tmp_path / "kb", library, model=fitted)
    return tmp_path / "kb"


@pytest.fixture
def mark(library: Path) -> Mark:
    document, time = str(library / "octopus.md"), "2026-01-02T03:04:05+00:00"
    return Mark(question_id(QUESTION), QUESTION, ("eight",), "corrected", time, document, PASSAGE, PASSAGE, "Octopus", 7)


def test_an_equal_question_shows_the_corrected_answer_first(kb: Path, mark: Mark, fitted_reader: Path) -> None:
    with Answerer.load(kb, reader=fitted_reader) as answerer:
        before = answerer.ask([ASKED_OTHERWISE, "Where are flowers?"], threshold=0)
        set_mark(kb, mark)  # read without a restart
        after = answerer.ask([ASKED_OTHERWISE, "Where are flowers?"], threshold=0)
        first = after[0][0]
        assert (first.text, first.certainty, first.confidence, first.sentence.text) == ("eight", "set by you", None, PASSAGE)
        assert first.passage.text[first.start - first.passage.start : first.end - first.passage.start] == "eight"
        assert str(first).startswith("eight (set by you)\n")
        assert after[0][1:] == [each for each in before[0] if (each.start, each.end) != (first.start, first.end)][:2]
        assert after[1] == before[1]
        assert answerer.ask(ASKED_OTHERWISE, k=1, threshold=1)[0] == first  # whatever the models think of it
        assert answerer.reply(ASKED_OTHERWISE, threshold=1).guess is None
        assert not any(each.set_by_you for each in answerer.explain(QUESTION).answers)
        set_mark(kb, replace(mark, verdict="right"))
        assert [each.start for each in answerer.ask(ASKED_OTHERWISE, threshold=0)] == [each.start for each in before[0]]
    with Answerer.load(kb, reader=fitted_reader, marks=False) as plain:
        set_mark(kb, mark)
        assert [each.start for each in plain.ask(ASKED_OTHERWISE, threshold=0)] == [each.start for each in before[0]]


def test_only_while_the_passage_stands_and_fulfils_the_conditions(kb: Path, library: Path, mark: Mark) -> None:
    set_mark(kb, mark)
    with Answerer.load(kb, reader=None) as answerer:
        assert answerer.ask(QUESTION, threshold=0)[0].set_by_you
        assert not any(answer.set_by_you for answer in answerer.ask(QUESTION, threshold=0, where={"kind": "tent"}))
        set_mark(kb, replace(mark, start=8))
        assert not answerer.ask(QUESTION, threshold=0)[0].set_by_you
        set_mark(kb, mark)
        text = (library / "octopus.md").read_text()
        (library / "octopus.md").write_text(text.replace("eight arms", "eight arms, and suckers"))
        index_files(kb, library)
        assert not any(answer.set_by_you for answer in answerer.ask(QUESTION, threshold=0))


def test_damaged_marks_are_named(kb: Path, mark: Mark, caplog: pytest.LogCaptureFixture) -> None:
    set_mark(kb, mark)
    with Answerer.load(kb, reader=None) as answerer:
        (kb / MARKS_FILE).write_text("{}\n")
        with caplog.at_level(logging.WARNING):
            assert not answerer.ask(QUESTION, threshold=0)[0].set_by_you
            answerer.ask(QUESTION, threshold=0)
        assert [record.getMessage().partition(f"{MARKS_FILE}, ")[2] for record in caplog.records] == [
            "line 1: 'verdict' is missing"
        ]
        (kb / MARKS_FILE).unlink()
        set_mark(kb, mark)
        assert answerer.ask(QUESTION, threshold=0)[0].set_by_you
    (kb / MARKS_FILE).write_text("{}\n")
    with pytest.raises(InputError, match="line 1"):
        Answerer.load(kb, reader=None)


def test_evaluation_measures_the_models(kb: Path, mark: Mark, fitted_reader: Path, tmp_path: Path) -> None:
    set_mark(kb, replace(mark, answers=("eight arms",)))  # the file is read as it is
    measured = evaluate_openqa(kb / MARKS_FILE, tmp_path / "run", index=kb, reader=fitted_reader)
    with Answerer.load(kb, reader=fitted_reader, marks=False) as answerer:
        first = answerer.ask(QUESTION)[:1]
    right = bool(first) and first[0].text == "eight arms"
    assert (measured["questions"], measured["answerable_em"]) == (1, 100.0 * right)


def test_the_command_says_who_set_it(kb: Path, mark: Mark) -> None:
    set_mark(kb, mark)
    command = ["ask", ASKED_OTHERWISE, "--index", str(kb), "--reader", "none"]
    assert CliRunner().invoke(app, command).stdout.startswith("set by you eight\n")
    report = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    first = report["answers"][0]
    assert (report["found"], first["text"], first["certainty"], first["confidence"]) == (True, "eight", "set by you", None)
