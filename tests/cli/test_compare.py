"""What `oreqa compare` shows on a terminal."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.files import write_json, write_jsonl


def finished_run(folder: Path, scores: list[float], question: str) -> Path:
    folder.mkdir()
    write_json(folder / "metrics.json", {"data_sha256": "x", "rouge_l": 100 * sum(scores) / len(scores), "words": 9.0})
    write_jsonl(
        folder / "per_question.jsonl", [{"id": f"{i}", "question": question, "rouge_l": s} for i, s in enumerate(scores)]
    )
    return folder


def test_metrics_of_a_kind_of_their_own_are_shown(tmp_path: Path) -> None:
    a = finished_run(tmp_path / "a", [0.5, 0.25], "Where? " * 100)
    b = finished_run(tmp_path / "b", [0.5, 0.75], "Where? " * 100)
    shown = CliRunner().invoke(app, ["compare", str(a), str(b)]).stdout
    row = next(line for line in shown.splitlines() if "rouge_l" in line)
    assert [figure in row for figure in ("37.50", "62.50", "+25.00")] == [True] * 3
    assert "words" not in shown  # no question has it
    assert shown.count("Where?") < 30  # a question may be a whole paragraph with its answer marked


def test_runs_of_different_questions_are_compared_on_those_that_both_have(tmp_path: Path) -> None:
    a = finished_run(tmp_path / "a", [0.0, 0.0, 1.0, 1.0], "Where?")
    b = finished_run(tmp_path / "b", [0.5, 0.5], "Where?")
    shown = CliRunner().invoke(app, ["compare", str(a), str(b)]).stdout
    row = next(line for line in shown.splitlines() if "rouge_l" in line)
    assert [figure in row for figure in ("0.00", "50.00", "+50.00")] == [True] * 3
    assert "2 questions that both asked, of 4" in shown


def test_runs_are_named_without_what_their_paths_have_in_common(tmp_path: Path) -> None:
    first, second = tmp_path / ("long" * 20) / "x" / "run", tmp_path / ("long" * 20) / "y" / "run"
    for folder in (first, second):
        folder.parent.mkdir(parents=True)
        finished_run(folder, [0.5], "Where?")
    shown = CliRunner().invoke(app, ["compare", str(first), str(second)]).stdout
    assert shown.startswith("y/run against x/run: 1 question")


def test_a_comparison_is_not_written_over_a_run(tmp_path: Path) -> None:
    for name in ("x", "y"):
        finished_run(tmp_path / name, [0.5], "Where?")
    runs = [str(tmp_path / name) for name in ("x", "y")]
    over = CliRunner().invoke(app, ["compare", *runs, "--out", runs[1]])
    assert "it holds a finished run already" in (over.output + str(over.exception))
