from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def kb(tmp_path: Path, library: Path, tiny: Path) -> Path:
    (library / "old").mkdir()
    (library / "old" / "bees.txt").write_text("Bees were here before.")
    assert run("index", library, "--index", tmp_path / "kb", "--model", tiny).exit_code == 0
    return tmp_path / "kb"


def shown(kb: Path, *arguments: object) -> dict[str, object]:
    found = run("show", *arguments, "--index", kb, "--json")
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)  # type: ignore[no-any-return]


def test_a_document_by_any_of_its_names(kb: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    octopus = library / "octopus.md"
    monkeypatch.chdir(library)
    for name in (
        octopus,
        "octopus.md",
        "./octopus.md",
        "library/octopus.md",
        "octopus.md:5",
        f"{octopus}:5",
        "octopus.md#arms",
        "octopus.md#arms/2",
        "octopus.md, sheet Prices, row 4",
        "octopus.md, a.xhtml#q",
        "octopus.md, slide 3, notes",
    ):
        report = shown(kb, name)
        assert (report["document"], report["title"]) == (str(octopus), "Octopus")
        texts = [passage["text"] for passage in report["passages"]]  # type: ignore[attr-defined]
        assert "three hearts" in texts[0]
        assert "eight arms" in texts[-1]
    monkeypatch.chdir(library / "old")
    assert shown(kb, "bees.txt")["document"] == str(library / "old" / "bees.txt")
    assert shown(kb, "old/bees.txt")["document"] == str(library / "old" / "bees.txt")
    assert shown(kb, "rows.jsonl#b")["fields"] == {"kind": "shoe"}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bees.txt", "bees.txt: 2 documents have this name; choose one: LIBRARY/bees.txt, LIBRARY/old/bees.txt"),
        ("rows.jsonl", "2 documents have this name; choose one: LIBRARY/rows.jsonl#a, LIBRARY/rows.jsonl#b"),
        ("octopos.md", "octopos.md: the index has no document with this name; did you mean: LIBRARY/octopus.md"),
        ("ees.txt", "the index has no document with this name; did you mean: LIBRARY/"),
        ("", "the document is empty"),
        ("zzz", "zzz: the index has no document with this name; it has: LIBRARY/"),
    ],
)
def test_other_names_are_one_line(
    kb: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("show", name, "--index", kb)
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert reason.replace("LIBRARY", str(library)) in found.stderr


def test_rows_of_a_table_are_listed_in_their_order(tmp_path: Path, tiny: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("text\n" + "".join(f"row {row}\n" for row in range(1, 12)))
    assert run("index", table, "--index", tmp_path / "kb", "--model", tiny).exit_code == 0
    error = run("show", "t.csv", "--index", tmp_path / "kb").stderr
    assert f"choose one: {table}#1, {table}#2, {table}#3, {table}#4, {table}#5, ..." in error


def test_a_stretch_is_marked(kb: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # however long the path of the test is
    text = (library / "bees.txt").read_text()
    start = text.index("queen")
    report = shown(kb, library / "bees.txt", start, start + 5)
    assert report["marked"] == {"start": start, "end": start + 5}
    (passage,) = report["passages"]  # type: ignore[misc]
    assert passage["place"]["line"] == 1
    assert passage["text"][start - passage["start"] :].startswith("queen")
    found = run("show", library / "bees.txt", start, start + 5, "--index", kb)
    assert "The queen lays eggs." in found.stdout
    assert f"bees.txt:1  {passage['start']}-{passage['end']}" in found.stdout
    beyond = run("show", library / "bees.txt", 5000, 5001, "--index", kb)
    assert beyond.exit_code == 2
    assert "no passage stands at 5000-5001; its passages stand at 0-" in beyond.stderr


def test_all_of_a_document(kb: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    found = run("show", "octopus.md", "--index", kb).stdout
    assert found.startswith("Octopus\n")
    assert found.index("three hearts") < found.index("\nArms\n") < found.index("eight arms")
    assert "kind: shoe" in run("show", "rows.jsonl#b", "--index", kb).stdout


def test_a_damaged_index_is_named(kb: Path) -> None:
    (documents,) = kb.glob("search-*/documents.db")
    documents.chmod(0o600)
    documents.write_bytes(b"no")
    found = run("show", "octopus.md", "--index", kb)
    assert (found.exit_code, found.stderr.count("\n")) == (2, 1)
    assert "documents.db" in found.stderr


def test_a_file_in_an_archive_by_its_name(kb: Path, library: Path) -> None:
    with zipfile.ZipFile(library / "old.zip", "w") as archive:
        archive.writestr("notes/wasps.txt", "Wasps build with paper.")
    assert run("index", library, "--index", kb).exit_code == 0
    for name in ("old.zip#notes/wasps.txt", "notes/wasps.txt", "wasps.txt", "old.zip"):
        assert shown(kb, name)["document"] == f"{library}/old.zip#notes/wasps.txt"
