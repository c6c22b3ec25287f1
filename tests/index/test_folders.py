"""Documents by the path of a file or a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.core import Document
from oreqa.index.folders import indexed_folders
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings

KEYS = [
    "/srv/docs/policies/refund.md",
    "/srv/docs/policies/old/refund.md",
    "/srv/docs/policies.md",
    "/other/policies/a.md",
    "loan",
]
BY_PATH = {
    "policies": [0, 1, 3],
    "policies/": [0, 1, 3],
    "./policies": [0, 1, 3],
    "docs/policies": [0, 1],
    "/srv/docs/policies": [0, 1],
    "/srv/docs/policies/": [0, 1],
    "/docs/policies": [],
    "refund.md": [0, 1],
    "policies/refund.md": [0],
    "/srv": [0, 1, 2],
    "/": [0, 1, 2, 3],
    "olicies": [],
    "polic": [],
    "Policies": [],
    "loan": [4],
    "*/policies/*": [0, 1, 3],
    "policies/*": [],
}


@pytest.fixture
def index(tmp_path: Path, tiny: Path) -> Index:
    index_documents(tmp_path / "kb", [Document(key, "", "The tent.") for key in KEYS], Settings(str(tiny)))
    return Index.open(tmp_path / "kb")


def test_a_path_is_that_of_a_file_or_of_a_folder(index: Index) -> None:
    for path, expected in BY_PATH.items():
        hits = index.search("tent", 9, where={"path": path})
        assert {hit.passage.document_key for hit in hits} == {KEYS[number] for number in expected}, path
    hits = index.search("tent", 9, where={"path": ["loan", "old"]})
    assert {hit.passage.document_key for hit in hits} == {KEYS[1], KEYS[4]}


def test_the_folders_are_those_of_the_files(index: Index) -> None:
    folders = ["/other/policies", "/srv/docs", "/srv/docs/policies", "/srv/docs/policies/old"]
    assert indexed_folders(index.snapshot().select) == folders


def test_a_path_that_nothing_has_names_the_folders(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs" / "policies").mkdir(parents=True)
    (tmp_path / "docs" / "policies" / "refund.md").write_text("A refund takes two days.")
    index_files(tmp_path / "kb", tmp_path / "docs", Settings(str(tiny)))
    monkeypatch.chdir(tmp_path)

    def search(condition: str) -> tuple[str, bool]:
        done = CliRunner().invoke(app, ["search", "refund", "--index", "kb", "--where", condition])
        assert done.exit_code == (0 if done.stdout else 2)
        return done.stderr, "refund.md" in done.stdout

    assert search("path=policy") == ("error: no document matches --where path=policy; folders are: docs/policies\n", False)
    assert search("title=Refunds") == (
        "error: no document matches --where title=Refunds; the nearest are: title=refund\n",
        False,
    )
    near = "error: no document matches --where path=refnd.md; did you mean: docs/policies/refund.md?\n"
    assert search("path=refnd.md") == (near, False)
    assert search("path=policies") == search("path=.") == ("", True)
    monkeypatch.chdir(tmp_path / "docs" / "policies")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OREQA_INDEX", str(tmp_path / "kb"))
    for condition in ("path=..", "path=../policies/refund.md", "path=~/docs"):
        done = CliRunner().invoke(app, ["search", "refund", "--where", condition])
        assert (done.stderr, "refund.md" in done.stdout) == ("", True)
