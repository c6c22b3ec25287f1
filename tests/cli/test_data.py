from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from oreqa.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


def test_counts_are_reported(squad_file: Path) -> None:
    result = run(squad_file)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"{squad_file}: SQuAD file"
    counts = json.loads(run(squad_file, "--json").stdout)
    assert counts["kind"] == "squad"
    assert lines[1] == f"{counts['passages']} paragraphs, {counts['candidates']} sentences"
    assert lines[-1] == (
        f"{counts['answers_a_question']:.2f} answers a question, {counts['questions_an_answer']:.2f} questions an answer"
    )


def test_questions_without_an_answer_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "who", "answers": ["Ada"]}\n{"question": "why", "answers": []}\n')
    assert run(file).stdout.splitlines() == [
        f"{file}: list of questions",
        "1 question, 1 more without an answer",
        "1 answer, 1 pair of question and answer",
        "1.00 answers a question, 1.00 questions an answer",
    ]


def test_what_is_no_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    result = run(tmp_path / "a.txt")
    assert result.exit_code == 2
    assert "give a SQuAD file" in result.stderr
