from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.datasets.marks import Mark, question_id, set_mark


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_shards_are_merged_and_the_result_is_reported(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, file in enumerate(("octopus.md", "bees.txt")):
        assert run("index", library / file, "--index", f"shard-{number}", "--model", tiny).exit_code == 0
    set_mark(Path("shard-0"), Mark(question_id("Who?"), "Who?", ("the queen",), "right", "2026-01-01T00:00:00Z"))
    result = run("merge", "shard-0", "shard-1", "--index", "kb")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "kb: 2 documents added; 2 documents and 4 passages in all",
        "1 mark of answers taken over",
    ]
    assert "octopus.md" in run("search", "hearts", "--index", "kb").stdout
    again = run("merge", "shard-0", "shard-1", "--index", "kb")
    assert again.stdout.splitlines() == [
        "kb: nothing to add; 2 documents and 4 passages in all",
        "all documents of shard-0, shard-1 were there before",
    ]
    assert json.loads(run("merge", "shard-0", "--index", "other", "--json").stdout) == {
        "index": "other", "documents": 1, "passages": 2, "added": 1, "marks": 1, "present": [], "unfitted": [],
    }  # fmt: skip


def test_a_shard_that_cannot_be_merged_is_one_line(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("index", library, "--index", "shard", "--model", tiny).exit_code == 0
    refused = run("merge", "shard", "nowhere", "--index", "kb")
    line = "error: nowhere: there is no index here; create one with: oreqa index PATH --index nowhere"
    assert (refused.exit_code, refused.stderr.splitlines()) == (2, [line])
