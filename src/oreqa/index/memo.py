"""The file of the memo of encodings: its tables, and whether it is as it was written.

It is sealed when a complete update closes it: a file beside it holds its size and CRC-32. One that differs from its seal,
after an interruption or by damage, is checked row by row, which takes ten times as long.
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

ENCODINGS = "encodings.db"

NEXT = f"next-{ENCODINGS}"
"""The memo of an encoder that an index is being changed to (``change_encoder``)."""

SCHEMA = """
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- vectors: of the passage and its sentences (float16); terms: word ids (int32); lengths: number of words of the passage and
-- of each sentence (int32); crc: CRC-32 of the three.
CREATE TABLE encodings(
    hash BLOB PRIMARY KEY, vectors BLOB NOT NULL, terms BLOB NOT NULL, lengths BLOB NOT NULL, crc INTEGER NOT NULL);
-- Encodings that no published generation uses yet: those of an interrupted update, kept for when it runs again. They are
-- deleted after a few updates.
CREATE TABLE unpublished(hash BLOB PRIMARY KEY, updates INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, crc INTEGER NOT NULL);
"""

_SEAL, _LOGS = "-crc", ("-wal", "-shm", "-journal")


def memo_files(path: Path) -> list[Path]:
    """A memo, its seal, and the files that SQLite may keep beside it."""
    return [path.with_name(path.name + suffix) for suffix in ("", _SEAL, *_LOGS)]


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
            write_json(path.with_name(path.name + _SEAL), checksum(path))


def is_sealed(path: Path) -> bool:
    """Whether a memo is as it was when it was sealed."""
    try:
        return not _has_log(path) and bool(json.loads(path.with_name(path.name + _SEAL).read_bytes()) == checksum(path))
    except (OSError, ValueError, RecursionError):
        return False


def _has_log(path: Path) -> bool:
    """Whether changes of a memo lie beside it, which an interrupted update left."""
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
    """Return a line about the damage of an index's memo; None if it is sound, missing, or being written."""
    try:
        damage = damage_of_encodings(folder)
        problem = f"it is damaged ({damage}); the lost encodings are computed again by: oreqa index PATH --index {folder}"
    except (OSError, sqlite3.Error) as error:
        damage = str(error)
        problem = f"it cannot be read now ({describe(error)}); free some space or make it readable, then check again"
    if not damage or "locked" in damage:
        return None
    return f"{folder / ENCODINGS}: {problem}"


def damage_of_encodings(folder: Path, may_seal: bool = False) -> str:
    """Say what is damaged of an index's memo; "" if it is sound or missing. One that is sound is sealed if it may be.

    Raises OSError, or an error of SQLite's, if it cannot be read.
    """
    path = folder / ENCODINGS
    exists, *_ = [need_regular(file) for file in memo_files(path)]
    if not exists or is_sealed(path):
        return ""
    options = "mode=ro" if _has_log(path) else "mode=ro&immutable=1"
    try:
        check_header(path)
        with closing(sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}?{options}", uri=True)) as database:
            if read_schema(database):  # else it was emptied
                check_pages(database)
                sound_terms(database)
                if damaged := sum(1 for _ in damaged_rows(database)):
                    return f"{damaged} of its rows"
    except SQLITE_ERRORS as error:
        if not is_damage(error):
            raise
        return describe(error)
    if may_seal:
        seal(path)
    return ""


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
