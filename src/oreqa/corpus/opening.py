"""Opens files that may be anything by now: pipes that would block, devices that never end, files that have changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from oreqa.errors import DocumentError


def open_file(path: Path) -> IO[bytes]:
    """Open a regular file for reading. Raises DocumentError for others, which could block or never end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise DocumentError("it is not a regular file")


def open_unchanged(path: Path, size: int, time: int) -> IO[bytes] | None:
    """Open a file if it has this size in bytes and this modification time in nanoseconds, else return None.

    Raises OSError if it cannot be opened.
    """
    try:
        file = open_file(path)
    except DocumentError:
        return None
    status = os.fstat(file.fileno())
    if (status.st_size, status.st_mtime_ns) == (size, time):
        return file
    file.close()
    return None
