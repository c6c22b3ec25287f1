"""How an index detects that a file has changed: its size, its time, and how it was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from oreqa.corpus.splitter import SPLITTER_VERSION
from oreqa.errors import DocumentError

if TYPE_CHECKING:
    from oreqa.corpus.readers import Fields

IN_MEMORY = "in memory"
"""The revision of a document that was not read from a file: its source is its key."""

_AGAIN = " again"
_GRAIN = 2_000_000_000
"""Nanoseconds within which a file can change twice without a new time, on any file system."""


def file_revision(file: Path, fields: Fields) -> str:
    """Return the revision of a file read with these ``fields``. Raises DocumentError if it cannot be accessed."""
    try:
        status = file.stat()
    except OSError as error:
        raise DocumentError(f"it cannot be read ({error.strerror})") from error
    named = json.dumps([fields.text, fields.title, fields.id])
    return f"{SPLITTER_VERSION} {status.st_size} {status.st_mtime_ns} {named}"


def read_revision(revision: str, started: int) -> str:
    """Return the revision to record for a file whose reading ``started`` then, in nanoseconds.

    A file written just before may change again within the clock's resolution: it is read again next time.
    """
    return revision if started - size_and_time(revision)[1] > _GRAIN else revision + _AGAIN


def size_and_time(revision: str) -> tuple[int, int]:
    """Return the size in bytes, and the modification time in nanoseconds, that a file had when it was read."""
    _, size, changed, *_ = revision.split(" ", 3)
    return int(size), int(changed)


State = Literal["same", "changed", "gone", "none"]


def file_state(source: str, revision: str | None) -> State:
    """Return whether a file is still the one that was indexed with this ``revision``.

    "none" if there is no file, it was still changing when it was read, or it cannot be accessed. Only calls stat.
    """
    if revision in (None, IN_MEMORY):
        return "none"
    try:
        status = Path(source).stat()
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError:
        return "none"
    return "same" if (status.st_size, status.st_mtime_ns) == size_and_time(revision) else "changed"
