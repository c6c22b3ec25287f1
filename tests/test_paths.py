"""Paths that begin in the working folder, the index where none is named, the cache's folder, and names of files that are not finished."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.errors import InputError, ModelError
from oreqa.models.wheels import get_release
from oreqa.paths import cache_folder, default_index, has_cache, index_option, need_index, new_index, partial_file


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_index_is_that_of_the_variable_else_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (new_index(), default_index()) == (Path(".oreqa"), None)
    ways = "set --index, before any --, or OREQA_INDEX, or make one here: oreqa index ."
    with pytest.raises(InputError, match=ways):
        need_index()
    monkeypatch.setenv("OREQA_INDEX", "")
    Path(".oreqa").write_text("a file, no index")
    assert default_index() is None
    Path(".oreqa").unlink()
    Path(".oreqa").mkdir()
    assert new_index() == default_index() == need_index() == Path(".oreqa")
    monkeypatch.setenv("OREQA_INDEX", "nowhere")
    assert new_index() == default_index() == need_index() == Path("nowhere")


def test_an_index_is_named_only_where_it_must_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (index_option(Path("kb")), index_option(Path("my kb"))) == (" --index kb", " --index 'my kb'")
    assert index_option(tmp_path / ".oreqa") == index_option(Path(".oreqa")) == ""
    monkeypatch.setenv("OREQA_INDEX", "kb")
    assert (index_option(Path("./kb")), index_option(Path(".oreqa"))) == ("", " --index .oreqa")


def test_commands_work_without_naming_the_index(
    tmp_path: Path, library: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library)
    ways = "error: no index is named: set --index, before any --, or OREQA_INDEX, or make one here: oreqa index .\n"
    for command in (("ask", "x"), ("search", "x"), ("show", "x"), ("check",), ("fit",), ("serve",), ("mcp",)):
        refused = run(*command)
        assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", ways)
    assert run("generate", "--out", "q.jsonl").stderr == "error: name an index or data to make questions from\n"
    assert run("index", ".", "--model", fitted).stdout.startswith(".oreqa: 4 added, in 3 files; ")
    assert "4 unchanged, in 3 files;" in run("index", ".").stdout
    assert "bees.txt:3" in run("ask", "drones sting", "--reader", "none", "--threshold", 0, "-k", 9).stdout
    assert "bees.txt:3" in run("search", "drones sting").stdout
    assert run("show", "bees.txt").stdout.startswith("bees\n")
    assert run("check").stdout == ".oreqa: every file is as it was written\n"
    assert run("mine", "cloze", "--out", tmp_path / "cloze.jsonl").stdout.endswith("cloze.jsonl\n")
    monkeypatch.setenv("OREQA_INDEX", str(tmp_path / "other"))
    assert run("show", "bees.txt").stderr.endswith("there is no index here; create one with: oreqa index PATH\n")
    line = f"{tmp_path}: this folder holds other files and no index; make one of them with: oreqa index {tmp_path}\n"
    assert run("show", "bees.txt", "--index", tmp_path).stderr.endswith(line)
    assert run("index", "bees.txt", "--model", fitted).stdout.startswith(f"{tmp_path / 'other'}: 1 added; ")
    assert run("show", "bees.txt").exit_code == 0
    assert "the index has no document with this name" in run("show", "octopus.md").stderr
    assert run("show", "octopus.md", "--index", ".oreqa").exit_code == 0


def test_help_says_which_index_is_used_without_an_option() -> None:
    for command in (("index",), ("ask",), ("fit",), ("serve",), ("mine", "cloze")):
        shown = " ".join(run(*command, "--help").stdout.replace("│", " ").split())
        assert "[default: $OREQA_INDEX, else .oreqa]" in shown


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
