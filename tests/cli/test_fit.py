from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa import Document, Settings, index_documents
from oreqa.cli import app
from oreqa.datasets.marks import MARKS_FILE, Mark, question_id, set_mark


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def kb(tmp_path: Path, tiny: Path) -> Path:
    texts = [f"fox {n} eats hay {n}. it sleeps in house {n}." for n in range(30)]
    index_documents(tmp_path / "kb", [Document(f"d{n}", "", text) for n, text in enumerate(texts)], Settings(str(tiny)))
    return tmp_path / "kb"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows = [
        {"question": text, "answers": [answer], "document": f"d{n}"}
        for n in range(30)
        for text, answer in (
            (f"who eats hay {n}", f"fox {n}"),
            (f"fox {n} eats", f"hay {n}"),
            (f"house {n} for", f"house {n}"),
        )
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_fit_is_reported_and_used(kb: Path, questions: Path) -> None:
    command = ("ask", "who eats hay 3", "--index", kb, "--reader", "none")
    assert "fit one on questions" in run(*command).stderr
    fitted = run("fit", "--index", kb, "--data", questions, "--reader", "none")
    assert fitted.exit_code == 0, fitted.stderr
    lines = fitted.stdout.splitlines()
    assert lines[:2] == [
        f"{questions}: 90 questions with an answer in the index, 0 without",
        "  each question with an answer was also asked without the documents that answer it",
    ]
    assert lines[2].endswith(" about other documents:")
    assert any(line.split()[-2:] == ["before", "after"] for line in lines)
    assert lines[-1].startswith(f"{kb} now uses the fitted ")
    assert "calibration with " in lines[-1]
    answered = run(*command)
    assert "not calibrated" not in answered.stdout
    assert answered.stderr == ""
    assert json.loads(run(*command, "--json").stdout)["calibrated"]
    again = json.loads(run("fit", "--index", kb, "--data", questions, "--reader", "none", "--json").stdout)
    assert (again["fitted"], again["reader"], again["index"]) == ([], None, str(kb))
    assert again["before"]["brier"] is not None
    last = run("fit", "--index", kb, "--data", questions, "--reader", "none").stdout.splitlines()[-4:]
    assert last[0].startswith("the search keeps its weights: ")
    assert last[1].startswith("the calibration stays: ")
    assert last[2] == f"kept: {again['kept_answers']} held-out answers, for: oreqa ask --at-least SHARE"
    assert last[3] == f"{kb} keeps its weights"


def test_marks_are_fitted_on_as_they_are(kb: Path, questions: Path) -> None:
    for line in questions.read_text().splitlines():
        row = json.loads(line)
        n = int(row["document"][1:])
        text, answer = f"fox {n} eats hay {n}. it sleeps in house {n}.", row["answers"][0]
        place = row["document"], text.split(". ")[0], text, "", text.index(answer)
        set_mark(kb, Mark(question_id(row["question"]), row["question"], (answer,), "right", "", *place))
    set_mark(kb, Mark(question_id("Who pays?"), "Who pays?", (), "none", ""))
    fitted = json.loads(run("fit", "--index", kb, "--data", kb / MARKS_FILE, "--reader", "none", "--json").stdout)
    assert (fitted["questions"], fitted["unanswerable"], fitted["missing"]) == (90, 1, 0)


def test_answers_of_which_a_share_is_right(kb: Path, questions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("ask", "who eats hay 3", "--index", kb, "--reader", "none", "--at-least")
    refused = run(*command, 0.2)
    assert refused.exit_code == 2
    assert "a promise needs 100 questions" in refused.stderr
    assert run("fit", "--index", kb, "--data", questions, "--reader", "none").exit_code == 0
    monkeypatch.setattr("oreqa.answering.guarantee.FEWEST_HELD_OUT", 30)
    answered = run(*command, 0.2)
    assert answered.exit_code == 0, answered.stderr
    answers = json.loads(run(*command, 0.2, "--json").stdout)["answers"]
    assert len(answers) <= 1
    assert " at least 20% of them are right, with 95% certainty (of " in answered.stderr
    for wrong in (("--threshold", 0.3), ("-k", 2)):
        both = run(*command, 0.2, *wrong)
        assert (both.exit_code, both.stderr.count("\n")) == (2, 1)
        assert "leave --threshold and -k out" in both.stderr


def test_too_few_questions(kb: Path, questions: Path) -> None:
    refused = run("fit", "--index", kb, "--data", questions, "--reader", "none", "--questions", 50)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: questions is 50; at least 90 are needed")
    assert refused.stderr.count("\n") == 1


def test_a_fit_can_be_undone(kb: Path, questions: Path) -> None:
    command = ("ask", "who eats hay 3", "--index", kb, "--reader", "none", "--json")
    before = run(*command).stdout
    assert run("fit", "--index", kb, "--data", questions, "--reader", "none").exit_code == 0
    assert json.loads(run(*command).stdout)["calibrated"]
    refused = run("fit", "--index", kb, "--data", questions, "--undo")
    assert (refused.exit_code, "name one of the two" in refused.stderr) == (2, True)
    assert (
        run("fit", "--index", kb, "--undo").stdout
        == f"{kb} uses again the weights and probabilities that its models come with\n"
    )
    assert json.loads(run(*command).stdout) == json.loads(before)
    assert json.loads(run("fit", "--index", kb, "--undo", "--json").stdout) == {"index": str(kb), "undone": False}
