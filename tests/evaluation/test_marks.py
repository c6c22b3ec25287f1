from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oreqa.answering import Answerer
from oreqa.cli import app
from oreqa.datasets.marks import Mark, question_id, set_mark
from oreqa.errors import InputError
from oreqa.evaluation import evaluate_openqa, measure_marks, write_marks
from oreqa.evaluation.marks import ThresholdRow, _Judged, _row, _suggested
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings

TEXTS = [f"Fox {n} eats hay {n}. It sleeps in house {n}." for n in range(6)]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def kb(tmp_path: Path, fitted: Path) -> Path:
    documents = [{"id": f"d{n}", "title": "", "text": text} for n, text in enumerate(TEXTS)]
    index_documents(tmp_path / "kb", documents, settings=Settings(str(fitted)))
    return tmp_path / "kb"


def mark(question: str, document: str, text: str, answer: str, **changed: Any) -> Mark:
    start = text.index(answer)
    plain = Mark(
        question_id(question), question, (answer,), "right", "2026-01-02T03:04:05+00:00", document, text, text, "", start
    )
    return replace(plain, **changed)


def test_answers_are_measured_by_their_marks(kb: Path, fitted_reader: Path) -> None:
    questions = [f"Where does fox {n} sleep?" for n in range(4)]
    with Answerer.load(kb, reader=fitted_reader) as answerer:
        replies = answerer.reply(questions, 1)
        best = [reply.answers[0] if reply.answers else reply.best for reply in replies]
    first, second, third = (answer for answer in best[:3] if answer is not None)
    set_mark(kb, mark(questions[0], first.passage.document_key, first.passage.text, first.text))
    whole = second.passage.text  # the whole passage was marked, and holds the answer
    set_mark(kb, mark(questions[1], second.passage.document_key, whole, whole, verdict="corrected"))
    other = next(n for n, text in enumerate(TEXTS) if third.text not in text)
    set_mark(kb, mark(questions[2], f"d{other}", TEXTS[other], f"hay {other}", verdict="corrected"))
    set_mark(kb, mark(questions[3], "d0", "a passage that is not there", "passage"))
    set_mark(kb, Mark(question_id("Who pays?"), "Who pays?", (), "none", ""))
    set_mark(kb, Mark(question_id("Who sings?"), "Who sings?", (), "wrong", ""))
    report = measure_marks(kb, reader=fitted_reader)
    assert report.verdicts == {"right": 2, "corrected": 2, "none": 1, "wrong": 1}
    assert (report.changed, report.measured, report.answerable, report.unanswerable) == (1, 4, 3, 1)
    shown = [bool(reply.answers) for reply in replies]
    assert (report.right, report.wrong, report.refused) == (sum(shown[:2]), shown[2], 3 - sum(shown[:3]))
    assert report.suggested is None  # of four marks
    shown = run("marks", "--index", kb, "--reader", fitted_reader)
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.splitlines()[:2] == [
        f"{kb}: 6 marks: 2 right, 2 corrected, 1 not in the documents, 1 wrong and not corrected",
        "  not measured: 1, since the index does not hold their passage any more, or not as it was",
    ]
    assert "a threshold is suggested from 50 measured marks on" in shown.stdout
    rows = json.loads(run("marks", "--index", kb, "--reader", fitted_reader, "--json").stdout)["thresholds"]
    assert [row["threshold"] for row in rows if row["given_answers"] == 0][-1] == 0.95


def test_one_mark_is_a_sentence_and_no_table(kb: Path, fitted_reader: Path) -> None:
    set_mark(kb, Mark(question_id("Who pays?"), "Who pays?", (), "none", ""))
    shown = run("marks", "--index", kb, "--reader", fitted_reader).stdout
    assert "precision" not in shown
    assert "\n  1 question without an answer: " in shown
    assert shown.splitlines()[-1] == "a threshold is suggested from 50 measured marks on"


def judged(*answers: tuple[float, bool]) -> Sequence[_Judged]:
    return [_Judged(True, confidence >= 0.3, right, confidence) for confidence, right in answers]


def test_a_threshold_is_suggested_that_puts_more_answers_on_its_right_side() -> None:
    answers = judged(*[(0.8, True)] * 30, *[(0.45, False)] * 15, *[(0.1, False)] * 5, *[(0.2, True)] * 2)
    rows = [_row(threshold, answers) for threshold in (0.05, 0.15, 0.3, 0.5, 0.6, 0.9)]
    assert rows[2] == ThresholdRow(0.3, 45, 30, 35)
    assert rows[2].precision == pytest.approx(30 / 45)
    assert rows[5].precision is None
    assert _suggested(rows, 0.3, 52) == 0.5  # 0.6 is as good, and farther
    assert _suggested(rows, 0.3, 49) is None
    assert _suggested(rows, 0.5, 52) is None
    assert _suggested([], None, 52) is None


def test_marks_are_written_as_data(kb: Path, tmp_path: Path) -> None:
    set_mark(kb, mark("Who eats hay 1?", "d1", TEXTS[1], "Fox 1"))
    for kind, name in (("questions", "q.jsonl"), ("pairs", "p.jsonl"), ("squad", "s.json")):
        written = run("marks", "--index", kb, "--out", tmp_path / name, "--kind", kind)
        assert (written.exit_code, written.stdout) == (0, f"1 mark written to {tmp_path / name}\n"), written.stderr
    assert write_marks(kb, tmp_path / "again.jsonl") == 1
    with pytest.raises(InputError, match="it exists already; name another file, or delete this one to write it anew"):
        write_marks(kb, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "q.jsonl").read_bytes()
    for wrong in (("--kind", "pairs"), ("--out", tmp_path / "x.txt"), ("--out", tmp_path / "x.jsonl", "--reader", "none")):
        refused = run("marks", "--index", kb, *wrong)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1), refused.stderr


def test_marks_are_shown_and_one_is_removed(kb: Path) -> None:
    set_mark(kb, mark("Who eats hay 1?", "d1", TEXTS[1], "Fox 1"))
    set_mark(kb, Mark(question_id("Who sings?"), "Who sings?", (), "wrong", "2026-01-03T03:04:05+00:00"))
    assert run("marks", "--index", kb, "--list").stdout.splitlines() == [
        "2026-01-02  Who eats hay 1?  right: Fox 1 (d1)", "2026-01-03  Who sings?  wrong and not corrected",
    ]  # fmt: skip
    rows = json.loads(run("marks", "--index", kb, "--list", "--json").stdout)["marks"]
    assert run("marks", "--index", kb, "--remove", "who SINGS").stdout == "removed what was said of 'who SINGS'\n"
    assert run("marks", "--index", kb, "--remove", "who SINGS").exit_code == 2
    assert json.loads(run("marks", "--index", kb, "--remove", rows[0]["id"], "--json").stdout)["removed"] == rows[0]["id"]
    assert run("marks", "--index", kb, "--list").stderr == f"{kb} has no marks\n"
    assert run("marks", "--index", kb, "--list", "--remove", "x").exit_code == 2


def test_an_index_without_marks_is_named(kb: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it has no marks"):
        measure_marks(kb)
    with pytest.raises(InputError, match="it has no marks"):
        write_marks(kb, tmp_path / "out.jsonl")


def test_models_without_a_calibration_have_no_thresholds(kb: Path, tiny_reader: Path) -> None:
    set_mark(kb, mark("Who eats hay 1?", "d1", TEXTS[1], "Fox 1"))
    report = measure_marks(kb, reader=tiny_reader)
    assert (report.threshold, report.thresholds, report.measured) == (None, [], 1)
    assert "no threshold to choose" in run("marks", "--index", kb, "--reader", tiny_reader).stdout


def test_openqa_reads_the_file_as_it_is(kb: Path, fitted_reader: Path, tmp_path: Path) -> None:
    set_mark(kb, mark("Who eats hay 1?", "d1", TEXTS[1], "Fox 1"))
    set_mark(kb, Mark(question_id("Who pays?"), "Who pays?", (), "none", ""))
    measured = evaluate_openqa(kb / "marks.jsonl", tmp_path / "run", index=kb, reader=fitted_reader)
    assert (measured["answerable"], measured["unanswerable"]) == (1, 1)
