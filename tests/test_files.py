from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from interruption import files_of_at_most

from oreqa.errors import InputError
from oreqa.files import append_jsonl, remove, resume_rows, write_bytes
from oreqa.progress import ignore


def test_interrupted_rows_are_kept(tmp_path: Path) -> None:
    path, calls, told = tmp_path / "rows.jsonl", [], []

    def make(begin: int, end: int) -> list[dict[str, int]]:
        if begin == 4 and len(calls) < 3:
            raise KeyboardInterrupt
        calls.append((begin, end))
        return [{"n": n} for n in range(begin, end)]

    with pytest.raises(KeyboardInterrupt):
        resume_rows(path, "a", 5, 2, make, told.append)
    with path.open("a") as stream:
        stream.write(path.read_text()[:20])  # torn by the interruption
    calls.append((0, 0))
    rows = resume_rows(path, "a", 5, 2, make, told.append)
    assert [row["n"] for row in rows] == [0, 1, 2, 3, 4]
    assert calls == [(0, 2), (2, 4), (0, 0), (4, 5)]
    assert told == [0, 2, 2, 4, 1]
    assert len(resume_rows(path, "b", 5, 2, make, told.append)) == 5
    assert calls[4:] == [(0, 2), (2, 4), (4, 5)]


@pytest.mark.parametrize("place", ["digest", "text", "break", "cut", "other bytes"])
def test_rows_from_a_damaged_one_on_are_made_again(tmp_path: Path, place: str) -> None:
    path, calls = tmp_path / "rows.jsonl", []

    def make(begin: int, end: int) -> list[dict[str, str]]:
        calls.append(begin)
        return [{"text": f"row {n}"} for n in range(begin, end)]

    rows = resume_rows(path, "a", 5, 1, make, ignore)
    whole, calls[:] = path.read_bytes(), []
    lines = whole.splitlines(keepends=True)
    third = lines[2]
    damaged = {
        "digest": third.replace(third[:1], b"x", 1),
        "text": third.replace(b"row 2", b"row 3"),
        "break": third[:-1],
        "cut": third[:20] + b"\n",
        "other bytes": b"\xff\0\n",
    }
    path.write_bytes(b"".join([*lines[:2], damaged[place], *lines[3:]]))
    assert resume_rows(path, "a", 5, 1, make, ignore) == rows
    assert calls == [2, 3, 4]
    assert path.read_bytes() == whole


def test_rows_are_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append_jsonl(path, [{"n": 1}])
    with files_of_at_most(5000), pytest.raises(InputError, match=r"rows\.jsonl: it cannot be written \(File too large\)"):
        append_jsonl(path, [{"n": number} for number in range(2, 3000)])
    assert path.read_text() == '{"n": 1}\n'


def test_a_folder_whose_removal_is_interrupted_does_not_bear_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").touch()

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(os, "unlink", interrupt)
        with pytest.raises(KeyboardInterrupt):
            remove(folder)
    assert not folder.exists()
    assert (tmp_path / "folder.removed" / "file").is_file()
    folder.mkdir()
    remove(folder)
    assert not list(tmp_path.iterdir())


def test_a_regular_file_keeps_its_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    path.write_text("before")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12345, 54321)
    before = path.stat()
    with path.open() as reader:
        write_bytes(path, b"after")
        assert reader.read() == "before"  # it was replaced, not written into
    after = path.stat()
    assert path.read_text() == "after"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, exists: bool) -> None:
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    if exists:
        target.parent.mkdir()
        target.write_text("before")
    link.symlink_to("folder/target")
    write_bytes(link, b"after")
    assert link.readlink() == Path("folder/target")
    assert target.read_text() == "after"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder", "link", "target"]


def test_a_link_to_itself_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"loop: it cannot be written [(]Too many levels"):
        write_bytes(tmp_path / "loop", b"after")


def test_a_fifo_is_written_into(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(fifo, b"after")
    assert os.read(reader, 100) == b"after"
    os.close(reader)
    assert fifo.is_fifo()
    assert list(tmp_path.iterdir()) == [fifo]


def test_a_device_is_written_into(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:
        pytest.skip("this user may not make devices here")
    write_bytes(device, b"after")
    assert device.is_char_device()
    assert list(tmp_path.iterdir()) == [device]


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.csv"
    path.write_text("before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"report.csv: it cannot be written [(]No space left"):
        write_bytes(path, b"after")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_another_users_file_is_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.csv"
    path.write_text("before")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "replace", refuse)
    with path.open() as reader:
        write_bytes(path, b"after")
        assert reader.read() == "after"
    assert list(tmp_path.iterdir()) == [path]
