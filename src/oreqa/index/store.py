"""A generation's documents: one SQLite file with documents, passages, sentences, words, and the files they came from.

Published files never change, so that readers open them as such: without locks, and where they may not write. An update
works on a copy.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import quote

from oreqa.defaults import DEFAULT_ENCODER, FACTORY, LANGUAGE, PASSAGE_TOKENS
from oreqa.errors import IndexStateError
from oreqa.index.generations import DOCUMENTS, damage_message

T = TypeVar("T")

Holds = Literal["documents", "a task's passages"]
"""What an index is made of: a user's files, or what is measured or mined on."""

_SCHEMA = """
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Files as they were last read, so that unchanged ones are not parsed again.
CREATE TABLE sources(path TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
-- A document that is gone was not in its source when that was last read; it stays until it is pruned.
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL, fields TEXT NOT NULL,
    hash BLOB NOT NULL, gone INTEGER NOT NULL DEFAULT 0);
CREATE INDEX documents_source ON documents(source);
-- encoding: a hash of what the model reads of a passage, by which its vectors and words are remembered.
CREATE TABLE passages(
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    heading TEXT NOT NULL, text TEXT NOT NULL, start INTEGER NOT NULL, places TEXT NOT NULL, encoding BLOB NOT NULL);
CREATE INDEX passages_document ON passages(document);
-- What came through of each page of a document.
CREATE TABLE pages(
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    page TEXT NOT NULL, source INTEGER NOT NULL, read INTEGER NOT NULL, left_out TEXT NOT NULL);
CREATE INDEX pages_document ON pages(document);
CREATE TABLE sentences(
    id INTEGER PRIMARY KEY, passage INTEGER NOT NULL REFERENCES passages ON DELETE CASCADE,
    start INTEGER NOT NULL, end INTEGER NOT NULL);
CREATE INDEX sentences_passage ON sentences(passage);
-- The numbers of words in the BM25 matrices of this generation.
CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an index was made with. All but ``factory`` decide what is stored, and cannot change without a rebuild."""

    model: str = DEFAULT_ENCODER
    passage_tokens: int = PASSAGE_TOKENS
    language: str = LANGUAGE
    factory: str = FACTORY


def open_documents(generation: Path) -> sqlite3.Connection:
    """Open a published generation's documents. Raises IndexStateError if they are damaged or may not be read."""
    path = generation / DOCUMENTS
    if not path.is_file():
        raise IndexStateError(damage_message(path))
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        database = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        database.execute("PRAGMA temp_store = MEMORY")
        read_settings(database)
    except sqlite3.DatabaseError as error:
        if not _readable(path):
            raise IndexStateError(f"{path}: you may not read this file") from error
        raise IndexStateError(f"{damage_message(path)} ({error})") from error
    return database


def _readable(path: Path) -> bool:
    try:
        path.open("rb").close()
    except OSError:
        return False
    return True


def create_documents(folder: Path, settings: Settings, fingerprint: str, holds: Holds) -> sqlite3.Connection:
    """Make an empty file of documents in a draft, and open it."""
    database = open_draft(folder)
    with transaction(database):
        for statement in _SCHEMA.split(";\n"):
            database.execute(statement)
        for key, value in {"fingerprint": fingerprint, "holds": holds, **asdict(settings)}.items():
            write_setting(database, key, str(value))
    return database


def open_draft(folder: Path) -> sqlite3.Connection:
    """Open a draft's documents to write: a crash loses the draft anyway, so that nothing is synced on the way."""
    database = sqlite3.connect(folder / DOCUMENTS, isolation_level=None)
    for pragma in ("foreign_keys = ON", "journal_mode = MEMORY", "synchronous = OFF", "temp_store = MEMORY"):
        database.execute(f"PRAGMA {pragma}")
    return database


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:  # a full disk has ended it already
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def read_setting(database: sqlite3.Connection, key: str) -> str:
    """One value of the settings table. Raises sqlite3.DatabaseError if it is not there."""
    row = database.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"the setting {key!r} is missing")
    return str(row[0])


def write_setting(database: sqlite3.Connection, key: str, value: str) -> None:
    database.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, value))


def read_settings(database: sqlite3.Connection) -> Settings:
    """What the index was made with. Raises sqlite3.DatabaseError if that is not all there."""
    tokens = read_setting(database, "passage_tokens")
    if not tokens.isdigit():
        raise sqlite3.DatabaseError(f"passage_tokens is {tokens!r}")
    return Settings(
        read_setting(database, "model"), int(tokens), read_setting(database, "language"), read_setting(database, "factory")
    )


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
