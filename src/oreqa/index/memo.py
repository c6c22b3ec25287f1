"""The file of the memo of encodings: its tables, and whether it is as it was written.

It is sealed when a complete update closes it: a file beside it holds its size and CRC-32. The next update breaks the seal
when it opens the memo. One that differs from its seal, or has none after an interruption, is checked row by row, which takes
ten times as long.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from oreqa.errors import InputError, describe
from oreqa.files import write_json
from oreqa.index.generations import need_regular
from oreqa.index.store import SQLITE_ERRORS, is_damage, read_setting
from oreqa.models.checksums import checksum
from oreqa.paths import index_option

ENCODINGS = "encodings.db"

NEXT = f"next-{ENCODINGS}"
"""The memo of an encoder that an index is being changed to (``change_encoder``)."""

SCHEMA = """
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- vectors: codes of the passage and its sentences; terms: word ids (int32); lengths: number of words of the passage and
-- of each sentence (int32); crc: CRC-32 of the three.
CREATE TABLE encodings(
    hash BLOB PRIMARY KEY, vectors BLOB NOT NULL, terms BLOB NOT NULL, lengths BLOB NOT NULL, crc INTEGER NOT NULL);
-- Encodings that no published generation uses yet: those of an interrupted update, kept for when it runs again. They are
-- deleted after a few updates.
CREATE TABLE unpublished(hash BLOB PRIMARY KEY, updates INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, crc INTEGER NOT NULL);
"""

_SEAL, _LOGS, _SHARED = "-crc", ("-wal", "-journal"), "-shm"


def memo_files(path: Path) -> list[Path]:
    """A memo, its seal, and the files that SQLite may keep beside it."""
    return [path.with_name(path.name + suffix) for suffix in ("", _SEAL, *_LOGS, _SHARED)]


def remove_memo(path: Path) -> None:
    """Delete a memo with all its files."""
    for file in memo_files(path):
        file.unlink(missing_ok=True)


def replace_encodings(source: Path, target: Path) -> None:
    """Put a memo in the place of another, with what its log still holds."""
    with suppress(*SQLITE_ERRORS), closing(sqlite3.connect(source, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")  # a log would be lost, or be taken for the other file's
    remove_memo(target)
    source.rename(target)
    remove_memo(source)


def seal(path: Path) -> None:
    """Write the seal of a memo that is sound and closed; where that fails, it goes without."""
    with suppress(OSError, InputError):
        if path.is_file() and not _has_log(path):
            write_json(_seal_of(path), checksum(path))


def break_seal(path: Path) -> None:
    """Delete the seal of a memo that is going to change: a seal that does not fit is damage, then, of one or the other."""
    with suppress(OSError):  # what keeps it from being deleted keeps the memo from being written, and is said there
        _seal_of(path).unlink()


def _seal_of(path: Path) -> Path:
    return path.with_name(path.name + _SEAL)


def is_sealed(path: Path) -> bool:
    """Whether a memo is as it was when it was sealed."""
    try:
        return not _has_log(path) and bool(json.loads(_seal_of(path).read_bytes()) == checksum(path))
    except (OSError, ValueError, RecursionError):
        return False


def _has_log(path: Path) -> bool:
    """Whether changes of a memo lie beside it, which an interrupted update left. The memory that processes share of a log,
    which SQLite may leave behind, holds none."""
    logs = [path.with_name(path.name + suffix) for suffix in _LOGS]
    return any(log.is_file() and log.stat().st_size for log in logs)


def made_for(path: Path) -> str | None:
    """The encoder, language and version that a memo was made for; None if there is none, or it cannot be read."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            return read_setting(database, "made_for")
    except SQLITE_ERRORS:
        return None


def check_encodings(folder: Path) -> str | None:
    """Return a line about what is damaged or lost of an index's memo; None if it is sound, was never there, or is being
    written."""
    path, command = folder / ENCODINGS, f"oreqa index PATH{index_option(folder)}"
    try:
        damage, sealed = _examine(path)
    except (OSError, *SQLITE_ERRORS) as error:
        if "locked" in str(error):
            return None
        return f"{path}: it cannot be read now ({describe(error)}); free some space or make it readable, then check again"
    if damage == _GONE:
        return f"{path}: it was {_GONE}; searches do without it, and what updates need is computed again by: {command}"
    if damage:
        return f"{path}: it is damaged ({damage}); the lost encodings are computed again by: {command}"
    if not sealed and _seal_of(path).is_file() and not _has_log(path):
        return f"{_seal_of(path)}: it is damaged; {path.name} is sound, and gets a new one by: {command}"
    return None


def damage_of_encodings(folder: Path) -> str:
    """Say what is damaged of an index's memo; "" if it is sound, or missing. One that is sound is sealed.

    Raises OSError, or an error of SQLite's, if it cannot be read.
    """
    path = folder / ENCODINGS
    damage, sealed = _examine(path)
    if damage == _GONE:
        break_seal(path)  # the next change of a document makes the memo anew
        return ""
    if not damage and not sealed:
        seal(path)
    return damage


_GONE = "emptied or deleted"


def _examine(path: Path) -> tuple[str, bool]:
    """What is damaged of a memo, "" if nothing is, and whether it is as it was sealed."""
    exists, has_seal, *_ = [need_regular(file) for file in memo_files(path)]
    if not exists:
        return _GONE if has_seal else "", False
    if is_sealed(path):
        return "", True
    options = "mode=ro" if _has_log(path) else "mode=ro&immutable=1"
    try:
        check_header(path)
        with closing(sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}?{options}", uri=True)) as database:
            if not read_schema(database):
                return _GONE if has_seal else "", False
            check_pages(database)
            sound_terms(database)
            if damaged := sum(1 for _ in damaged_rows(database)):
                return f"{damaged} of its rows", False
    except (OSError, *SQLITE_ERRORS) as error:
        if not is_damage(error):
            raise
        return describe(error), False
    return "", False


def check_header(path: Path) -> None:
    """Raise sqlite3.DatabaseError for a version in a file's header that SQLite opens for reading alone, or not at all."""
    with path.open("rb") as file:
        header = file.read(20)
    if header and header[18:] not in (b"\1\1", b"\2\2"):
        raise sqlite3.DatabaseError("its header")


def read_schema(database: sqlite3.Connection) -> list[tuple[str, str]]:
    """Names and definitions of the tables and indices."""
    return database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def check_pages(database: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError for tables that are not a memo's, and for what SQLite finds damaged, indices included."""
    with closing(sqlite3.connect(":memory:")) as memo:
        memo.executescript(SCHEMA)
        if read_schema(database) != read_schema(memo):
            raise sqlite3.DatabaseError("its tables are not those of encodings")
    (answer,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)


def sound_terms(database: sqlite3.Connection) -> list[str]:
    """The words in the order of their numbers. Raises sqlite3.DatabaseError if one is missing or damaged."""
    rows = database.execute("SELECT id, term, crc FROM terms ORDER BY id").fetchall()
    for place, (number, term, crc) in enumerate(rows):
        if number != place or not isinstance(term, str) or crc32([term.encode()]) != crc:
            raise sqlite3.DatabaseError("its words")
    return [term for _, term, _ in rows]


def damaged_rows(database: sqlite3.Connection) -> Iterator[tuple[int]]:
    """The numbers of the damaged rows of encodings."""
    for number, *blobs, crc in database.execute("SELECT rowid, vectors, terms, lengths, crc FROM encodings"):
        if crc32(blobs) != crc:
            yield (number,)


def crc32(blobs: Iterable[object]) -> int | None:
    """The CRC-32 of bytes; None if damage made something else of them."""
    crc = 0
    for blob in blobs:
        if not isinstance(blob, bytes):
            return None
        crc = zlib.crc32(blob, crc)
    return crc
