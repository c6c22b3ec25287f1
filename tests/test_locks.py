"""A lock that cannot be had says whether to wait."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest
from filelock import Timeout

from oreqa.locks import is_locked, lock_file


def _refuse(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
@pytest.mark.parametrize("exists", [False, True])
def test_a_disk_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, exists: bool) -> None:
    if exists:  # as a killed process leaves it
        (tmp_path / "lock").touch()
    _refuse(monkeypatch, code)
    for wait in (False, True):
        with pytest.raises(OSError, match=r"the disk has no locks: .*; use another disk"):
            lock_file(tmp_path / "lock", wait)


def test_a_refused_lock_may_be_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _refuse(monkeypatch, errno.EACCES)
    for wait in (False, True):
        with pytest.raises(OSError, match=r"another process holds it, or the disk has no locks"):
            lock_file(tmp_path / "lock", wait)


def test_a_lock_is_held_until_its_end(tmp_path: Path) -> None:
    with lock_file(tmp_path / "lock"), pytest.raises(Timeout):
        lock_file(tmp_path / "lock")
    with lock_file(tmp_path / "lock", wait=True):
        pass


def test_a_held_lock_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lock_file(tmp_path / "lock"):
        assert is_locked(tmp_path / "lock")
    assert not is_locked(tmp_path / "lock")
    _refuse(monkeypatch, errno.ENOLCK)
    assert not is_locked(tmp_path / "lock")
