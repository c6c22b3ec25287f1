"""Writes files as a whole: a temporary file next to each is renamed to it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

_NOT_REPLACED = {errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV}
"""The folder or the file belongs to another user, who lets us write the file; or the file is a mount point."""

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def replace_file(path: Path, data: bytes) -> None:
    """Replace ``path`` by a file with this content, or write into it if it cannot be replaced.

    An existing file keeps its mode and owner, a link its name. Raises OSError; ENXIO for a FIFO without a reader.
    """
    before = _status(path)
    if before and stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if before and not stat.S_ISREG(before.st_mode):
        _write_into(path, data)
        return
    try:
        _replace(Path(os.path.realpath(path)), data, before)
    except OSError as error:
        if not before or error.errno not in _NOT_REPLACED:
            raise
        _write_into(path, data)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _replace(path: Path, data: bytes, before: os.stat_result | None) -> None:
    """Write a temporary file next to ``path``, with mode and owner of the existing file, and rename it.

    Until then nobody else may read the new content: the old file may be less accessible than a new one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".oreqa-{secrets.token_hex(8)}")  # short: the name may be as long as names can be
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600 if before else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        if before:
            new = temporary.stat()
            if (new.st_uid, new.st_gid) != (before.st_uid, before.st_gid):
                os.chown(temporary, before.st_uid, before.st_gid)
            temporary.chmod(stat.S_IMODE(before.st_mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_into(path: Path, data: bytes) -> None:
    """Write into an existing file. A FIFO without a reader is an error: opening it would silently block."""
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | flags)
    with os.fdopen(descriptor, "wb") as stream:
        if flags:
            os.set_blocking(descriptor, True)
        stream.write(data)
