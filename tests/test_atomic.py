"""Files written as a whole: what is there before stays or is replaced, and nothing else is left."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from oreqa.errors import InputError
from oreqa.files import write_bytes


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


@pytest.mark.parametrize("reason", [errno.EPERM, errno.EACCES, errno.EBUSY])
def test_what_cannot_be_replaced_is_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: int) -> None:
    path = tmp_path / "report.csv"
    path.write_text("before")

    def refuse(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(Path, "replace", refuse)
    with path.open() as reader:
        write_bytes(path, b"after")
        assert reader.read() == "after"
    assert list(tmp_path.iterdir()) == [path]


_WRITE = "import sys; from pathlib import Path; from oreqa.files import write_text; write_text(Path(sys.argv[1]), 'after')"


@pytest.mark.system
def test_a_file_that_is_a_mount_is_written_into(tmp_path: Path) -> None:
    source, path = tmp_path / "source", tmp_path / "report.csv"
    source.write_text("before")
    path.touch()
    script = f'mount --bind {source} {path} && {sys.executable} -c "{_WRITE}" {path}'
    try:
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this user may not mount")
    assert (done.returncode, done.stderr) == (0, "")
    assert source.read_text() == "after"


@pytest.mark.parametrize("length", [251, 255])
def test_a_name_as_long_as_names_can_be(tmp_path: Path, length: int) -> None:
    path = tmp_path / ("a" * (length - 4) + ".csv")
    write_bytes(path, b"after")
    assert path.read_bytes() == b"after"


def test_nobody_else_reads_what_replaces_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, modes, names, replace = tmp_path / "notes.txt", [], [], Path.replace
    path.write_text("before")
    path.chmod(0o600)

    def watched(temporary: Path, target: Path) -> Path:
        names.append(temporary.name)
        return replace(temporary, target)

    def written(descriptor: int, mode: str) -> object:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return fdopen(descriptor, mode)

    fdopen = os.fdopen
    monkeypatch.setattr(Path, "replace", watched)
    monkeypatch.setattr(os, "fdopen", written)
    for _ in range(2):
        write_bytes(path, b"after")
    path.chmod(0o644)
    write_bytes(path, b"after")
    assert modes == [0o600] * 3
    assert len(set(names)) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / ".oreqa-guessed").symlink_to("theirs")
    monkeypatch.setattr("secrets.token_hex", lambda size: "guessed")
    with pytest.raises(InputError, match="it cannot be written"):
        write_bytes(tmp_path / "report.csv", b"after")
    assert (tmp_path / "theirs").read_text() == "theirs"


def test_an_interruption_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "report.csv", b"after")
    assert list(tmp_path.iterdir()) == []


def test_a_fifo_that_nobody_reads_is_a_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="nobody reads this named pipe; start its reader first, or name a file"):
        write_bytes(tmp_path / "fifo", b"after")
