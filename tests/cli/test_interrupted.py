"""Ctrl-C, and surroundings that are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.core import Passage
from oreqa.index.encodings import Encodings
from oreqa.index.ingest import index_files
from oreqa.index.journal import kept_encodings
from oreqa.index.search import Index
from oreqa.training.checkpoints import seal_checkpoint


def run(code: str, **options: Any) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("module", ["typer", "oreqa.cli.application", "oreqa.cli.ask"])
def test_ctrl_c_while_commands_are_imported_ends_quietly(module: str) -> None:
    code = f"""
import sys
class Stop:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
from oreqa.cli import main
main()
"""
    assert run(code) == (130, "", "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["ask", "x"], "interrupted"),
        (["search", "x"], "interrupted"),
        (["check"], "interrupted"),
        (["explain", "x"], "interrupted"),
        (
            ["fit", "--data", "q.jsonl"],
            "interrupted; run the same command again to resume from what was saved, if anything",
        ),
        (
            ["index", "."],
            "interrupted; no passages are encoded and kept yet: run the same command again",
        ),
    ],
)
def test_only_what_is_kept_is_said_to_be(arguments: list[str], line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for place in ("oreqa.answering.Answerer.load", "oreqa.index.search.Index.open", "oreqa.index.ingest.index_files"):
        monkeypatch.setattr(place, stop)
    monkeypatch.setattr("oreqa.index.integrity.check_index", stop)
    monkeypatch.setattr("oreqa.fitting.fit.require_generation", stop)
    result = CliRunner().invoke(app, [*arguments, "--index", "kb"])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", f"{line}\n")


@pytest.mark.parametrize(
    ("finished", "begun", "line"),
    [
        ([], [], "no checkpoint is saved yet"),
        ([], [600], "no checkpoint is saved yet"),
        ([600, 1200], [1800], "step 1,200 is saved: run the same command again to continue"),
    ],
)
def test_an_interrupted_training_says_whether_a_checkpoint_is_saved(
    finished: list[int], begun: list[int], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")

    def stop(*_: object, **__: object) -> None:
        for step in finished + begun:
            checkpoint = tmp_path / "out" / "checkpoints" / f"checkpoint-{step}"
            checkpoint.mkdir(parents=True)
            (checkpoint / "model.safetensors").write_bytes(b"half")
            if step in finished:
                seal_checkpoint(checkpoint)
        raise KeyboardInterrupt

    monkeypatch.setattr("oreqa.training.train_model", stop)
    monkeypatch.setattr("oreqa.training.train.keep_freed_memory", lambda: None)
    result = CliRunner().invoke(app, ["train", "retriever", "--data", "q.jsonl", "--out", str(tmp_path / "out")])
    assert (result.exit_code, result.stderr) == (130, f"interrupted; {line}\n")


def test_an_interrupted_index_says_how_much_is_kept(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = Encodings.encode

    def stop_at_second(self: Encodings, passages: dict[bytes, Passage], *others: Any) -> None:
        if kept_encodings(tmp_path / "kb"):
            raise KeyboardInterrupt
        encode(self, passages, *others)

    command = ["index", str(library), "--index", str(tmp_path / "kb"), "--model", str(tiny)]
    with monkeypatch.context() as patch:
        patch.setattr("oreqa.index.writer.BATCH_PASSAGES", 2)
        patch.setattr(Encodings, "encode", stop_at_second)
        stopped = CliRunner().invoke(app, command)
    line = "interrupted; 2 encoded passages are kept: run the same command again to continue\n"
    assert (stopped.exit_code, stopped.stdout, stopped.stderr) == (130, "", line)
    steps: list[int] = []
    monkeypatch.setattr("oreqa.cli.progress.ProgressBar.kept", lambda _, number: steps.append(number))
    assert CliRunner().invoke(app, command).exit_code == 0
    assert sum(steps) == 2
    assert kept_encodings(tmp_path / "kb") == 0


def test_an_option_of_another_command_names_that_command() -> None:
    error = CliRunner().invoke(app, ["ask", "x", "--index", "kb", "--mode", "sparse"]).stderr
    assert "No such option: --mode" in error
    assert "oreqa search has it" in error


@pytest.mark.parametrize("question", ["-5", "-5 degrees?", "-.5"])
def test_a_question_that_looks_like_an_option_is_told_how_to_be_asked(question: str) -> None:
    error = CliRunner().invoke(app, ["ask", question, "--index", "kb"]).stderr
    assert "; write -- before an argument that begins with -; " in error


@pytest.mark.parametrize("command", ["ask", "search", "explain"])
def test_a_question_about_an_option_is_told_how_to_be_asked(command: str) -> None:
    error = CliRunner().invoke(app, [command, "--totals", "--index", "kb"]).stderr
    assert f"No such option: --totals; to ask about it: root {command} 'What does --totals do?'; " in error
    assert "to ask about it" not in CliRunner().invoke(app, ["index", "kb", "--totals"]).stderr
    short = CliRunner().invoke(app, [command, "-totals in it?", "--index", "kb"]).stderr
    behind = f"write -- before a question that begins with -: root {command} [OPTIONS] -- '-totals in it?'; "
    assert f"No such option: -totals in it?; {behind}" in short


def test_a_user_without_a_home(library: Path, tmp_path: Path, tiny: Path) -> None:
    """As one whom a container makes up: no $HOME, and no entry among the users."""
    index_files(tmp_path / "kb", library, model=tiny)
    with Index.open(tmp_path / "kb") as index:
        expected = [repr(hit) for hit in index.search("hearts", 2)]
    code = f"""
import pwd
def unknown(number):
    raise KeyError(number)
pwd.getpwuid = unknown
from oreqa import Index
print([repr(hit) for hit in Index.open({str(tmp_path / "kb")!r}).search("hearts", 2)])
from oreqa.cli.hits import shown_path
print(shown_path("/some/where.txt"))
"""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "OREQA_PRECISION") if name in os.environ}
    (tmp_path / "working").mkdir()
    assert run(code, env=environment, cwd=tmp_path / "working") == (0, f"{expected}\n/some/where.txt\n", "")
    assert not list((tmp_path / "working").iterdir())


@pytest.mark.system
def test_a_working_folder_that_is_gone(tmp_path: Path, library: Path, tiny: Path) -> None:
    (tmp_path / "gone").mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from oreqa.cli import main; main()"

    def command(*arguments: object) -> tuple[int, str]:
        Path(tmp_path / "gone").mkdir(exist_ok=True)
        done = subprocess.run([sys.executable, "-P", "-c", code, *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path / "gone")  # fmt: skip
        return done.returncode, done.stderr

    error = "error: {}: the working folder is gone; change to another one, or write the whole path\n"
    kb = tmp_path / "kb"
    assert command("index", "docs", "--index", "kb") == (2, error.format("kb"))
    assert command("index", library, "--index", kb, "--model", tiny) == (0, "")
    assert command("ask", "How many hearts?", "--index", kb, "--reader", "none")[0] == 0
    assert command("search", "hearts", "--index", kb) == (0, "")
    assert command("show", "octopus", "--index", kb)[1].startswith("error: octopus: ")
    for arguments in (["ask", "hearts", "--index", "kb"], ["search", "hearts", "--index", "kb"], ["check", "--index", "kb"]):
        assert command(*arguments) == (2, error.format("kb"))
    assert command("index", library, "--index", kb, "--report", "report.csv") == (2, error.format("report.csv"))
