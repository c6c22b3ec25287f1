"""Before a writer writes: is the folder its to write, and what was the index made with?"""

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
    """What an index was made with; None if none was completed yet."""
    if newest_generation(folder) is None:
        return None

    def read(generation: Path) -> Settings:
        with closing(store.open_documents(generation)) as database:
            return store.read_settings(database)

    return with_newest(folder, read)


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        lock.acquire(timeout=0)
    except Timeout:
        raise IndexStateError(f"{folder}: another process is writing this index; wait until it is done") from None
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder}: it is a file; --index names a folder") from None
    except OSError as error:
        raise InputError(f"{folder}: it cannot be written ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def name_write_errors(folder: Path) -> Iterator[None]:
    """Say in one line that the disk is full, or cannot be written. Errors of documents have been caught before."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise IndexStateError(_unwritten(folder, str(error))) from error
    except OSError as error:
        raise IndexStateError(_unwritten(folder, error.strerror or str(error))) from error


def _unwritten(folder: Path, reason: str) -> str:
    state = "" if newest_generation(folder) is None else "; it answers as before"
    return (
        f"{folder}: it cannot be written ({reason}){state}; make room or give the right to write, and run the command again"
    )


def check_empty(folder: Path) -> None:
    """A new index's folder may exist, but must hold nothing else."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; --index names a folder")
    ours = ("lock", DRAFT, ENCODINGS, f"{ENCODINGS}-wal", f"{ENCODINGS}-shm", f"{ENCODINGS}-journal")
    others = sorted(f.name for f in folder.iterdir() if f.name not in ours) if folder.is_dir() else []
    if "index.db" in others:
        raise IndexStateError(f"{folder}: its format is 1, this oreqa reads {FORMAT}; index into a new folder")
    if others:
        raise InputError(f"{folder}: it holds {others[0]!r}, which is not an index; name a new or an empty folder")
