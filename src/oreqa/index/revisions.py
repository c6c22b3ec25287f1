"""What an index remembers of a file to tell whether it has changed: its size, its time, and how it was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from oreqa.corpus.splitter import SPLITTER_VERSION
from oreqa.errors import DocumentError

if TYPE_CHECKING:
    from oreqa.corpus.readers import Fields

IN_MEMORY = "in memory"
"""The revision of a document that was read from no file: its source is named by its key."""

_AGAIN = " again"
_GRAIN = 2_000_000_000
"""Nanoseconds in which a file can change twice with the same time, on any file system."""


def file_revision(file: Path, fields: Fields) -> str:
    """Return the revision of a file that is read with these ``fields``. Raises DocumentError if it cannot be reached."""
    try:
        status = file.stat()
    except OSError as error:
        raise DocumentError(f"it cannot be read ({error.strerror})") from error
    named = json.dumps([fields.text, fields.title, fields.id])
    return f"{SPLITTER_VERSION} {status.st_size} {status.st_mtime_ns} {named}"


def read_revision(revision: str, begun: int) -> str:
    """Return what to remember of a file whose reading began at the time ``begun``, in nanoseconds.

    One that was written just before may change again within the clock's grain: it is read once more next time.
    """
    return revision if begun - size_and_time(revision)[1] > _GRAIN else revision + _AGAIN


def size_and_time(revision: str) -> tuple[int, int]:
    """Return the size in bytes, and the time of change in nanoseconds, that a file had when it was read."""
    _, size, changed, *_ = revision.split(" ", 3)
    return int(size), int(changed)


State = Literal["same", "changed", "gone", "none"]


def file_state(source: str, revision: str | None) -> State:
    """Return whether a file is still the one that was indexed with this ``revision``; "none" where there is no file, it
    was not settled when it was read, or it cannot be reached. It costs one look at the disk, and opens nothing."""
    if revision in (None, IN_MEMORY):
        return "none"
    try:
        status = Path(source).stat()
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError:
        return "none"
    return "same" if (status.st_size, status.st_mtime_ns) == size_and_time(revision) else "changed"
