"""The index's truth: one SQLite file with documents, passages, sentences, their encodings, and what is published.

Rows of a new or changed document wait with ``live = 0`` until a whole update is published, in one transaction, together
with the number of the search files made from it. Readers see live rows alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from oreqa.errors import IndexStateError, InputError

T = TypeVar("T")

FORMAT = 1
DATABASE = "index.db"

_SCHEMA = """
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Files as they were last read, so that unchanged ones are not parsed again.
CREATE TABLE sources(path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL, fields TEXT NOT NULL,
    hash BLOB NOT NULL, live INTEGER NOT NULL, UNIQUE(key, live));
CREATE INDEX documents_source ON documents(source);
CREATE TABLE passages(
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    heading TEXT NOT NULL, text TEXT NOT NULL, start INTEGER NOT NULL, encoding BLOB NOT NULL);
CREATE INDEX passages_document ON passages(document);
CREATE INDEX passages_encoding ON passages(encoding);
CREATE TABLE sentences(
    id INTEGER PRIMARY KEY, passage INTEGER NOT NULL REFERENCES passages ON DELETE CASCADE,
    start INTEGER NOT NULL, end INTEGER NOT NULL);
CREATE INDEX sentences_passage ON sentences(passage);
-- What the model and the tokenizer made of a passage, by a hash of what they read: the passage's vector and its
-- sentences' (float16), the numbers of its words, and how many each of its texts has (int32).
CREATE TABLE encodings(hash BLOB PRIMARY KEY, vectors BLOB NOT NULL, terms BLOB NOT NULL, lengths BLOB NOT NULL);
CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
-- Live documents that the update under way is to remove.
CREATE TABLE removals(document INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE);
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an index was made with. All but ``factory`` decide what is stored, and cannot change without a rebuild."""

    model: str = "all-minilm-l6-v2"
    passage_tokens: int = 256
    language: str = "en"
    factory: str = "Flat"


def connect(folder: Path, write: bool = False) -> sqlite3.Connection:
    """Open an index's database. Raises IndexStateError if there is none, or none of ours."""
    path = folder / DATABASE
    if not path.is_file():
        raise IndexStateError(f"{folder}: there is no index here; make one with: oreqa index PATH --index {folder}")
    try:
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        database.execute("PRAGMA foreign_keys = ON")
        if write:
            database.execute("PRAGMA synchronous = NORMAL")
        else:
            database.execute("PRAGMA query_only = ON")
        version = database.execute("SELECT value FROM settings WHERE key = 'format'").fetchone()
    except sqlite3.DatabaseError as error:
        raise IndexStateError(f"{path}: it is not an index of oreqa ({error})") from error
    if version is None or int(version[0]) != FORMAT:
        found = version[0] if version else "unknown"
        raise IndexStateError(f"{folder}: its format is {found}, this oreqa reads {FORMAT}; index into a new folder")
    return database


def create(folder: Path, settings: Settings, fingerprint: str) -> None:
    """Make an empty index. The folder may exist, but must be empty of anything else."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; --index names a folder")
    # The lock is taken before the database is made; drafts of an interrupted start are ours, too.
    others = [f.name for f in sorted(folder.iterdir()) if f.name not in ("lock",) and not f.name.startswith(DATABASE)]
    if others:
        raise InputError(f"{folder}: it holds {others[0]!r}, which is not an index; name a new or an empty folder")
    draft = folder / f"{DATABASE}.draft"
    for left in folder.glob(f"{DATABASE}.draft*"):
        left.unlink()
    database = sqlite3.connect(draft, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    with transaction(database):
        for statement in _SCHEMA.split(";\n"):
            database.execute(statement)
        for key, value in {"format": FORMAT, "generation": 0, "fingerprint": fingerprint, **asdict(settings)}.items():
            write_setting(database, key, str(value))
    database.close()  # the last connection folds the log into the file
    draft.rename(folder / DATABASE)


@contextmanager
def transaction(database: sqlite3.Connection, mode: str = "IMMEDIATE") -> Iterator[None]:
    """All or nothing; ``mode`` is IMMEDIATE to write, DEFERRED to read one unchanging state."""
    database.execute(f"BEGIN {mode}")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def read_setting(database: sqlite3.Connection, key: str) -> str:
    """One value of the settings table."""
    return str(database.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()[0])


def write_setting(database: sqlite3.Connection, key: str, value: str) -> None:
    database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))


def read_settings(database: sqlite3.Connection) -> Settings:
    """What the index was made with."""
    return Settings(
        read_setting(database, "model"),
        int(read_setting(database, "passage_tokens")),
        read_setting(database, "language"),
        read_setting(database, "factory"),
    )


def field_filter(where: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
    """SQL condition on documents that have every ``(field, value)``, and its parameters.

    ``title`` and ``path`` are fields of every document; a path may hold the wildcards * and ?.
    """
    parts, values = ["live = 1"], []
    for name, value in where:
        if name == "title":
            parts.append("title = ?")
        elif name == "path":
            parts.append("source GLOB ?")
        elif '"' in name:
            raise InputError(f"the field name {name!r} holds a quotation mark: rename the field")
        else:
            parts.append("json_extract(fields, ?) = ?")
            values.append(f'$."{name}"')
        values.append(value)
    return " AND ".join(parts), values


def fields_of(text: str) -> dict[str, str]:
    """A document's fields from their column."""
    return {str(k): str(v) for k, v in json.loads(text).items()}


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most ``size`` items."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
