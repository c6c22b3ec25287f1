"""A generation's documents in SQLite: documents, passages, sentences, words and source files.

Published files never change, so readers open them as immutable: without locks or write permission.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import quote

from oreqa.arguments import choice
from oreqa.as_json import document_id
from oreqa.defaults import DEFAULT_ENCODER, LANGUAGE, PASSAGE_TOKENS, QUALITIES, Quality
from oreqa.errors import IndexStateError, InputError, describe
from oreqa.index.compounds import COMPOUNDING
from oreqa.index.engines.milvus_client import server_uri
from oreqa.index.generations import CHANGES, DOCUMENTS, UNREADABLE, damage_message, read_error
from oreqa.index.schema import create_tables, show_as_one
from oreqa.models.encoder.prompts import Prompts

T = TypeVar("T")

ContentKind = Literal["documents", "a task's passages"]
"""The contents of an index: a user's documents, or the passages of an evaluation or mining task."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of an index. Only ``quality`` can be changed later: the others affect what is stored.

    Examples:
        >>> Settings(language="de", quality="best").quality
        'best'
    """

    model: str = DEFAULT_ENCODER
    passage_tokens: int = PASSAGE_TOKENS
    language: str = LANGUAGE
    truncate_dim: int | None = None
    """Leading dimensions of the vectors to keep; None for all."""
    quality: Quality | None = None
    """The default quality of its answers; None for ``fast``."""
    engine: str | None = None
    """The server that holds vectors and words, e.g. ``milvus:http://HOST:PORT``; None for the index's folder."""

    def __post_init__(self) -> None:
        if self.engine is not None:
            server_uri(self.engine)
            if self.language in COMPOUNDING:
                reason = f"the compounds of {self.language!r} are split, which the engine milvus cannot count"
                raise InputError(f"{reason}; leave the index to its folder")
        if self.quality is not None:
            choice(self.quality, QUALITIES, "quality")


def model_place(folder: Path, model: str) -> str:
    """Return the location of an index's ``model``: a folder in the index, which moves with it, or else the name itself."""
    is_inside = os.path.isfile(folder / model / "config.json")  # noqa: PTH113 (raises nothing, whatever the name)
    return str(folder / model) if is_inside and not Path(model).is_absolute() else model


def open_documents(generation: Path) -> sqlite3.Connection:
    """Open a published generation's documents. Raises IndexStateError if they are damaged or cannot be read."""
    path, changes = generation / DOCUMENTS, generation / CHANGES
    try:
        is_regular, has_changes = path.is_file(), changes.is_file()
    except OSError as error:
        raise read_error(path, error) from error
    if not is_regular:
        raise IndexStateError(damage_message(path))
    try:
        main = unchanging(changes if has_changes else path)
        database = sqlite3.connect(main, uri=True, isolation_level=None, check_same_thread=False)
        database.execute("PRAGMA temp_store = MEMORY")
        database.create_function("document_id", 1, document_id, deterministic=True)
        if has_changes:
            show_as_one(database, unchanging(path))
        read_settings(database)
    except SQLITE_ERRORS as error:
        if is_damage(error):
            raise IndexStateError(f"{damage_message(path)} ({describe(error)})") from error
        raise read_error(path, _reason(path) or error) from error
    return database


def unchanging(path: Path) -> str:
    """Return the URI by which SQLite opens a published file."""
    return f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1"


def _reason(path: Path) -> OSError | None:
    """Return why a file cannot be opened, which SQLite does not say."""
    try:
        path.open("rb").close()
    except OSError as error:
        return error
    return None


def create_documents(folder: Path, settings: Settings, fingerprint: str, kind: ContentKind) -> sqlite3.Connection:
    """Create and open an empty documents file in a draft."""
    database = open_draft(folder)
    with transaction(database):
        create_tables(database)
        for key, value in {"fingerprint": fingerprint, "holds": kind, **asdict(settings)}.items():
            if value is not None:
                write_setting(database, key, str(value))
    return database


def open_draft(folder: Path) -> sqlite3.Connection:
    """Open a draft's whole documents; ``removed`` collects the ids of deleted passages."""
    database = connect_draft(folder / DOCUMENTS)
    note_removed(database)
    return database


def connect_draft(path: Path) -> sqlite3.Connection:
    """Open a draft's file for writing, without syncing: a crash loses the draft anyway. Deleted content is zeroed."""
    database = sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}", uri=True, isolation_level=None)
    in_memory = ("journal_mode = MEMORY", "temp_store = MEMORY")
    for pragma in ("foreign_keys = ON", "synchronous = OFF", "secure_delete = ON", *in_memory):
        database.execute(f"PRAGMA {pragma}")
    return database


def note_removed(database: sqlite3.Connection) -> None:
    """Make a draft record the ids of deleted passages in ``removed``."""
    database.execute("CREATE TEMP TABLE removed(id INTEGER PRIMARY KEY)")
    if database.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'passages'").fetchone():
        database.execute(
            "CREATE TEMP TRIGGER note_removed AFTER DELETE ON main.passages BEGIN INSERT INTO removed VALUES (old.id); END"
        )


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run the block in a transaction, rolled back if it raises."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:  # SQLite itself rolls back when the disk is full
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a database can raise; the second if the damage is in the text of SQLite's own message."""

_OF_THE_DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_INTERRUPT,
}
_UNREAD = {
    sqlite3.SQLITE_IOERR_READ,
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_DATA,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
}
"""Disk errors when reading existing data, which is lost like damaged bytes."""


def is_damage(error: BaseException) -> bool:
    """Return whether one of SQLITE_ERRORS, or an OSError, means a damaged file rather than, say, a full or read-only disk.

    Disk errors are recognised by their codes. An error without a code comes from Python, which cannot decode a text, or from
    this package.
    """
    if isinstance(error, OSError):
        return error.errno in UNREADABLE
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code in _UNREAD or code & 0xFF not in _OF_THE_DISK


def read_setting(database: sqlite3.Connection, key: str) -> str:
    """Return one value of the settings table. Raises sqlite3.DatabaseError if it is missing."""
    row = database.execute("SELECT value FROM main.settings WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise sqlite3.DatabaseError(f"the setting {key!r} is missing")
    return str(row[0])


def write_setting(database: sqlite3.Connection, key: str, value: str) -> None:
    """Set one value of the settings table."""
    database.execute("INSERT OR REPLACE INTO main.settings VALUES (?, ?)", (key, value))


def write_prompts(database: sqlite3.Connection, prompts: Prompts) -> None:
    """Record the prompts that the vectors were made with, if any."""
    database.execute("DELETE FROM main.settings WHERE key = 'prompts'")
    if prompts:
        write_setting(database, "prompts", json.dumps(asdict(prompts), ensure_ascii=False))


def recorded_prompts(database: sqlite3.Connection) -> Prompts:
    """Return the prompts that the vectors were made with."""
    row = database.execute("SELECT value FROM main.settings WHERE key = 'prompts'").fetchone()
    return Prompts(**json.loads(row[0])) if row else Prompts()


def read_settings(database: sqlite3.Connection) -> Settings:
    """Return the settings of an index. Raises sqlite3.DatabaseError if one is missing or invalid."""
    tokens = read_setting(database, "passage_tokens")
    if not tokens.isdigit():
        raise sqlite3.DatabaseError(f"passage_tokens is {tokens!r}")
    dim = database.execute("SELECT CAST(value AS INTEGER) FROM main.settings WHERE key = 'truncate_dim'").fetchone()
    quality = database.execute("SELECT value FROM main.settings WHERE key = 'quality'").fetchone()
    engine = database.execute("SELECT value FROM main.settings WHERE key = 'engine'").fetchone()
    if quality and quality[0] not in QUALITIES:
        raise sqlite3.DatabaseError(f"quality is {quality[0]!r}")
    return Settings(
        read_setting(database, "model"),
        int(tokens),
        read_setting(database, "language"),
        dim[0] if dim else None,
        quality[0] if quality else None,
        engine[0] if engine else None,
    )


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most ``size``."""
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
