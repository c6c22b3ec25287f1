"""Paths that begin in the working folder, the cache's folder, and names of files that are not finished."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.errors import ModelError
from oreqa.models.wheels import get_release
from oreqa.paths import cache_folder, has_cache, partial_file


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OREQA_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize("home", ["", "gone", "/dev/null"])
def test_a_home_that_is_not_there_is_not_created(
    tmp_path: Path, tiny: Path, library: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    at_root = Path("/.cache").exists()
    monkeypatch.setenv("HOME", str(tmp_path / home) if home == "gone" else home)
    assert not has_cache()
    done = CliRunner().invoke(app, ["index", str(library), "--index", str(tmp_path / "kb"), "--model", str(tiny)])
    assert done.exit_code == 0
    assert done.stderr == "there is no home folder, so compiled models are not kept; set OREQA_CACHE to a folder for them\n"
    with pytest.raises(ModelError, match="all-mpnet-base-v2: there is no home folder to put it in; set OREQA_CACHE"):
        get_release("all-mpnet-base-v2")
    assert not (tmp_path / "gone").exists()
    assert Path("/.cache").exists() == at_root


@pytest.mark.usefixtures("homeless")
def test_the_cache_lies_at_home_or_where_a_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert has_cache()
    assert cache_folder() == tmp_path / ".cache" / "oreqa"
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "oreqa"
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "ours"))
    assert cache_folder() == tmp_path / "ours"
    assert has_cache()


def test_an_unfinished_file_of_a_long_name_has_a_short_one() -> None:
    assert partial_file(Path("/a/pairs.jsonl")) == Path("/a/.pairs.jsonl.partial")
    names = [partial_file(Path("é" * 120 + f"{number}.jsonl")) for number in range(2)]
    assert all(len(os.fsencode(name)) < 40 for name in names)
    assert names[0] != names[1]
