"""Checks and locks that come before writing an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from oreqa.errors import IndexStateError, InputError
from oreqa.index import store
from oreqa.index.encodings import ENCODINGS
from oreqa.index.generations import DRAFT, FORMAT, newest_generation, with_newest
from oreqa.index.store import Settings


def existing_settings(folder: Path) -> Settings | None:
    """Return the settings of an index, or None if no update of it was ever completed."""
    if newest_generation(folder) is None:
        return None

    def read(generation: Path) -> Settings:
        with closing(store.open_documents(generation)) as database:
            return store.read_settings(database)

    return with_newest(folder, read)


@contextmanager
def write_lock(folder: Path, doing: str = "writing this index") -> Iterator[None]:
    """Create the folder and hold its lock.

    Raises IndexStateError, with what it is ``doing``, if another process holds it, InputError if it cannot be created.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=0)
    except Timeout:
        raise IndexStateError(f"{folder}: another process is {doing}; wait until it has finished") from None
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder}: it is a file; an index is a folder") from None
    except OSError as error:
        raise InputError(f"{folder}: it cannot be written ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def name_write_errors(folder: Path) -> Iterator[None]:
    """Turn a full or read-only disk into a one-line IndexStateError. Errors in documents are caught before they get here."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise IndexStateError(_write_failure(folder, str(error))) from error
    except OSError as error:
        raise IndexStateError(_write_failure(folder, error.strerror or str(error))) from error


def _write_failure(folder: Path, reason: str) -> str:
    state = "" if newest_generation(folder) is None else "; searches see the state before this update"
    return (
        f"{folder}: it cannot be written ({reason}){state}; free some space or make it writable, then run the command again"
    )


def check_empty(folder: Path) -> None:
    """Check that a new index's folder is empty or does not exist; raises InputError or IndexStateError otherwise."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; an index is a folder")
    ours = ("lock", DRAFT, ENCODINGS, f"{ENCODINGS}-wal", f"{ENCODINGS}-shm", f"{ENCODINGS}-journal")
    others = sorted(f.name for f in folder.iterdir() if f.name not in ours) if folder.is_dir() else []
    if "index.db" in others:
        raise IndexStateError(f"{folder}: its format is 1, this oreqa reads {FORMAT}; index into a new folder")
    if others:
        raise InputError(f"{folder}: it holds {others[0]!r}, which is not an index; use a new or empty folder")
