from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.corpus.files import find_files
from oreqa.errors import InputError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.md", "b.txt", "code.py", ".hidden.md", "sub/c.md", "sub/drafts/d.md", "node_modules/e.md", ".git/f.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path


def names(tree: Path, **options: list[str]) -> list[str]:
    return [file.relative_to(tree).as_posix() for file in find_files([tree], **options).files]


def test_recursive_without_hidden_and_unknown(tree: Path) -> None:
    assert names(tree) == ["a.md", "b.txt", "sub/c.md", "sub/drafts/d.md"]
    assert find_files([tree]).unknown == 1


def test_include_and_exclude(tree: Path) -> None:
    assert names(tree, include=["*.md"], exclude=["drafts/"]) == ["a.md", "sub/c.md"]
    assert names(tree, include=["sub/**"]) == ["sub/c.md", "sub/drafts/d.md"]


def test_ignore_file_holds_below_its_folder(tree: Path) -> None:
    (tree / "sub" / ".oreqaignore").write_text("drafts/\n# a comment\n")
    assert names(tree) == ["a.md", "b.txt", "sub/c.md"]


def test_named_files_are_taken_once_whatever_they_are(tree: Path) -> None:
    found = find_files([tree / "code.py", tree / "a.md", tree / "sub" / ".." / "a.md"])
    assert [file.name for file in found.files] == ["a.md", "code.py"]


def test_missing_path() -> None:
    with pytest.raises(InputError, match="nowhere: there is no such file"):
        find_files([Path("nowhere")])
