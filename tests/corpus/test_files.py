from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from oreqa.corpus.files import find_files
from oreqa.errors import InputError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.md", "b.txt", "code.xyz", ".hidden.md", "sub/c.md", "sub/drafts/d.md", "node_modules/e.md", ".git/f.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path


def names(tree: Path, **options: list[str]) -> list[str]:
    return [file.relative_to(tree).as_posix() for file in find_files([tree], **options).files]


def test_recursive_without_hidden_and_unknown(tree: Path) -> None:
    assert names(tree) == ["a.md", "b.txt", "sub/c.md", "sub/drafts/d.md"]
    files = find_files([tree])
    assert files.unknown == dict.fromkeys(files.examples, 1) == {".xyz": 1}
    assert files.examples[".xyz"].suffix == ".xyz"


def test_include_and_exclude(tree: Path) -> None:
    assert names(tree, include=["*.md"], exclude=["drafts/"]) == ["a.md", "sub/c.md"]
    assert names(tree, include=["sub/**"]) == ["sub/c.md", "sub/drafts/d.md"]


def test_a_kind_that_include_names_is_read(tree: Path) -> None:
    (tree / "sub" / "CODE.XYZ").write_text("x")
    (tree / "other.abc").write_text("x")
    assert names(tree, include=["*.xyz", "*.md", "!*.abc"]) == ["a.md", "code.xyz", "sub/c.md", "sub/drafts/d.md"]
    assert names(tree, include=["sub/*.XYZ"]) == ["sub/CODE.XYZ"]
    for pattern in ("*", "*.*", "code.x*", "code.xy[z]"):
        assert "code.xyz" not in names(tree, include=[pattern])
        assert find_files([tree], include=[pattern]).unknown[".xyz"]


def test_files_without_extension(tree: Path) -> None:
    folder = tree / "plain"
    folder.mkdir()
    for name in ("README", "FAQ.gz", "COPYING", "COPYING.LIB", "makefile", "tool", "INSTALL", "install", "history"):
        (folder / name).write_text("x")

    def read(*include: str) -> list[str]:
        return [file.name for file in find_files([folder], include).files]

    assert read() == ["FAQ.gz", "INSTALL", "README"]
    assert read("COPYING") == ["COPYING"]
    assert read("plain/COPYING", "*file", "README*") == ["README", "makefile"]
    assert read("*") == ["FAQ.gz", "INSTALL", "README"]
    assert read("COPY*", "inst*") == ["COPYING", "install"]


def test_files_that_an_index_holds_are_read_whatever_their_kind(tree: Path) -> None:
    (tree / "other.xyz").write_text("x")
    files = find_files([tree]).with_indexed({str(tree / "other.xyz"), str(tree / "gone.xyz")})
    assert [file.name for file in files.files] == ["a.md", "b.txt", "other.xyz", "c.md", "d.md"]
    assert (files.unknown, files.examples) == ({".xyz": 1}, {".xyz": tree / "code.xyz"})


def test_ignore_file_holds_below_its_folder(tree: Path) -> None:
    (tree / "sub" / ".oreqaignore").write_text("drafts/\n# a comment\n")
    assert names(tree) == ["a.md", "b.txt", "sub/c.md"]


def test_indexes_are_no_documents(tree: Path) -> None:
    for name in ("sub/kb/adapted/1/pairs.jsonl", "sub/kb/search-000001/manifest.json", "search-000007/notes.md"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("{}")
    assert names(tree) == ["a.md", "b.txt", "search-000007/notes.md", "sub/c.md", "sub/drafts/d.md"]
    assert find_files([tree]).unknown == {".xyz": 1}


def test_named_files_are_taken_once_whatever_they_are(tree: Path) -> None:
    found = find_files([tree / "code.xyz", tree / "a.md", tree / "sub" / ".." / "a.md"])
    assert [file.name for file in found.files] == ["a.md", "code.xyz"]


def test_missing_path() -> None:
    with pytest.raises(InputError, match="nowhere: there is no such file"):
        find_files([Path("nowhere")])
    with pytest.raises(InputError, match=r"no\\xffwhere: there is no such file"):
        find_files([Path("no\udcffwhere")])


def skipped(tree: Path, **options: list[str]) -> dict[str, str]:
    return {path.relative_to(tree).as_posix(): reason for path, reason in find_files([tree], **options).skipped}


def test_links_are_followed_within_the_folder_alone(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("x")
    (tree / ".hidden.txt").write_text("x")
    (tree / "inside.txt").symlink_to(tree / ".hidden.txt")
    (tree / "loop").symlink_to(tree)
    (tree / "round.txt").symlink_to(tree / "round.txt")
    (tree / "gone.txt").symlink_to(tree / "nothing.txt")
    (tree / "handbook").symlink_to(tree / "no-such-folder")
    (tree / "gone.xyz").symlink_to(tree / "nothing.xyz")
    (tree / "notes.txt").symlink_to(outside / "secret.txt")
    (tree / "notes.xyz").symlink_to(outside / "secret.txt")
    (tree / "sub" / "folder").symlink_to(outside)
    (tree / "sub" / "ignored").symlink_to(outside)
    (tree / ".oreqaignore").write_text("ignored\n")
    assert names(tree) == ["a.md", "b.txt", "inside.txt", "sub/c.md", "sub/drafts/d.md"]
    reasons = skipped(tree)
    assert sorted(reasons) == ["gone.txt", "handbook", "notes.txt", "round.txt", "sub/folder"]
    assert "broken link" in reasons["gone.txt"]
    assert "broken link" in reasons["handbook"]  # it may have led to a folder
    assert "broken link" in reasons["round.txt"]
    assert "out of the folder" in reasons["notes.txt"]
    assert "out of the folder" in reasons["sub/folder"]
    # Named outright, a link is taken, whether it leads to a file or to a folder.
    named = find_files([tree / "notes.txt", tree / "sub" / "folder"])
    assert [path.relative_to(tree).as_posix() for path in named.files] == ["notes.txt", "sub/folder/secret.txt"]
    assert not named.skipped


def test_a_file_is_found_once_however_many_links_lead_to_it(tree: Path) -> None:
    (tree / "sub" / "e").write_text("no extension")
    for name in ("ch1.html", "index.html"):
        (tree / name).symlink_to(tree / "sub" / "e")
        (tree / f"c-{name}").symlink_to(tree / "sub" / "c.md")
    assert names(tree) == ["a.md", "b.txt", "ch1.html", "sub/c.md", "sub/drafts/d.md"]
    # A file that is left out under its own name is found by its first link.
    found = find_files([tree], exclude=["c.md"]).files
    assert [file.name for file in found] == ["a.md", "b.txt", "c-ch1.html", "ch1.html", "d.md"]


def test_a_folder_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs-old").mkdir()
    (tmp_path / "docs-old" / "a.txt").write_text("x")
    (tmp_path / "docs" / "a.txt").symlink_to(tmp_path / "docs-old" / "a.txt")
    assert list(skipped(tmp_path / "docs")) == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_sockets_and_devices(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    os.mkfifo(tree / "pipe")
    os.mkfifo(tree / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")  # the kernel takes paths of about 100 characters
        assert skipped(tree) == {
            "pipe": "it is a named pipe",
            "pipe.txt": "it is a named pipe",
            "socket.md": "it is a socket",
        }
    assert skipped(tree, exclude=["pipe*", "socket.*"]) == {}
    with pytest.raises(InputError, match=r"pipe\.txt: it is a named pipe, not a file or a folder"):
        find_files([tree / "pipe.txt"])
    with pytest.raises(InputError, match="it is a device"):
        find_files([Path(os.devnull)])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_folders_without_permission(tree: Path) -> None:
    (tree / "sub").chmod(0)
    try:
        assert names(tree) == ["a.md", "b.txt"]
        assert "Permission denied" in skipped(tree)["sub"]
        assert "Permission denied" in find_files([tree / "sub" / "c.md"]).skipped[0][1]
    finally:
        (tree / "sub").chmod(0o700)


def test_folders_that_cannot_be_listed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "sub":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(tree) == ["a.md", "b.txt"]
    assert skipped(tree) == {"sub": "it cannot be read: Permission denied"}
    assert find_files([tree / "sub"]).skipped == ((tree / "sub", "it cannot be read: Permission denied"),)


def test_paths_that_cannot_be_looked_at(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **options: bool) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    assert find_files([tree / "sub"]).skipped == ((tree / "sub", "it cannot be read: Permission denied"),)


def test_names_that_are_not_utf_8(tree: Path) -> None:
    for name in (b"caf\xe9.txt", b"caf\xe9.xyz", b"\xff/inner.txt"):
        path = Path(os.fsdecode(os.fsencode(tree) + b"/" + name))
        try:
            path.parent.mkdir(exist_ok=True)
            path.write_text("x")
        except OSError:
            pytest.skip("the file system takes no such names")
    assert names(tree) == ["a.md", "b.txt", "sub/c.md", "sub/drafts/d.md"]
    assert skipped(tree) == dict.fromkeys([r"\xff", r"caf\xe9.txt"], "its name is not UTF-8: rename it")
    assert skipped(tree, exclude=["caf*"]) == {r"\xff": "its name is not UTF-8: rename it"}
    assert find_files([path]).skipped == ((tree / r"\xff" / "inner.txt", "its name is not UTF-8: rename it"),)


def test_deeply_nested_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(1200):  # from folder to folder, both ways, as the whole path is too deep for pytest to clear away
        Path("d").mkdir()
        os.chdir("d")
    Path("a.txt").write_text("x")
    try:
        assert [path.name for path in find_files([tmp_path]).files] == ["a.txt"]
    finally:
        Path("a.txt").unlink()
        for _ in range(1200):
            os.chdir("..")
            Path("d").rmdir()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"#" * 100_000, b"[z-a]\n"])
def test_a_folder_whose_rules_cannot_be_used_is_omitted(tree: Path, content: bytes) -> None:
    (tree / "sub" / ".oreqaignore").write_bytes(content)
    assert names(tree) == ["a.md", "b.txt"]
    assert ".oreqaignore is not usable" in skipped(tree)["sub"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_rules_are_not_read_from_a_pipe(tree: Path) -> None:
    os.mkfifo(tree / "sub" / ".oreqaignore")
    assert names(tree) == ["a.md", "b.txt"]
    assert "not a regular file" in skipped(tree)["sub"]


def test_patterns_take_linear_time(tree: Path) -> None:
    (tree / ("a" * 220 + ".txt")).write_text("x")
    (tree / ".oreqaignore").write_text("*a" * 22 + "b\n" + "**/a/" * 50 + "b\n")
    started = time.process_time()
    assert len(find_files([tree], exclude=["*a" * 100 + "b"]).files) == 5
    assert time.process_time() - started < 5


def test_rules_of_nested_folders_add_up(tree: Path) -> None:
    (tree / ".oreqaignore").write_text("/b.txt\n")
    (tree / "sub" / ".oreqaignore").write_text("/drafts\n/b.txt\n")
    (tree / "sub" / "b.txt").write_text("x")
    (tree / "sub" / "keep").mkdir()
    (tree / "sub" / "keep" / "b.txt").write_text("x")
    assert names(tree) == ["a.md", "sub/c.md", "sub/keep/b.txt"]


def test_bad_patterns_of_the_command_line() -> None:
    with pytest.raises(InputError, match="a pattern cannot be parsed"):
        find_files([], exclude=["[z-a]"])
