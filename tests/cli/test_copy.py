"""``oreqa copy`` and ``oreqa index --engine``: what is printed, and the errors of one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_copy(tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("index", library / "octopus.md", "--index", "kb", "--model", tiny).exit_code == 0
    result = run("copy", "kb", "copy")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "copy: 2 passages\n", "")
    assert json.loads(run("copy", "kb", "other", "--json").stdout) == {"index": "other", "passages": 2, "engine": None}
    assert run("search", "hearts", "--index", "copy").stdout == run("search", "hearts", "--index", "kb").stdout


def test_errors_are_one_line(tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = "error: kb: there is no index here; create one with: oreqa index PATH --index kb"
    assert run("copy", "kb", "copy").stderr.splitlines() == [line]
    refused = run("index", library, "--index", "kb", "--model", tiny, "--engine", "faiss")
    line = "error: an engine is milvus:http://HOST:PORT, or https for TLS, not 'faiss'"
    assert (refused.exit_code, refused.stderr.splitlines()) == (2, [line])
    assert not (tmp_path / "kb").exists()
