"""The current generation as a writer sees it, and the checks and the lock before writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from filelock import Timeout

from oreqa.arguments import kind_of
from oreqa.core import Document, Passage
from oreqa.errors import IndexStateError, InputError, describe
from oreqa.index import store
from oreqa.index.coverage import Report
from oreqa.index.drafts import count_passages, name_keys
from oreqa.index.engines.milvus import COLLECTIONS
from oreqa.index.generations import (
    CHANGES,
    DOCUMENTS,
    DRAFT,
    damage_message,
    newest_generation,
    with_newest,
)
from oreqa.index.integrity import damaged_before_update
from oreqa.index.journal import JOURNAL
from oreqa.index.store import ContentKind, Settings
from oreqa.locks import lock_file
from oreqa.models.encoder.prompts import Prompts
from oreqa.models.stored import is_same_model

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document of the current generation. ``content`` is its hash; ``gone`` says that its source no longer has it."""

    number: int
    key: str
    source: str
    content: bytes
    gone: bool


@dataclass(frozen=True, slots=True)
class CurrentState:
    """The current generation's folder and contents; the defaults are those of an index that has no generation yet.

    ``fingerprint`` identifies the model, ``quality`` is that of answers, ``passages`` their number, and ``damaged`` names
    the search files whose checksums do not match. Documents and sources are queried as an update reaches them.
    """

    generation: Path | None = None
    fingerprint: str | None = None
    quality: str | None = None
    passages: int = 0
    damaged: Sequence[str] = ()
    _database: sqlite3.Connection | None = None

    def close(self) -> None:
        """Close the documents."""
        if self._database is not None:
            self._database.close()

    def document(self, key: str) -> DocumentRow | None:
        """Return the document with a key."""
        return next(self._rows("id IN (SELECT id FROM keys WHERE key = ?)", key), None)

    def numbered(self, ids: Iterable[int]) -> list[DocumentRow]:
        """Return documents by their ids."""
        return [row for number in sorted(ids) for row in self._rows("id = ?", number)]

    def by_source(self, source: str) -> list[DocumentRow]:
        """Return the documents read from a source."""
        return list(self._rows("source = ?", source))

    def revision(self, source: str) -> str | None:
        """Return the revision at which a source was last read; None if it was never read or must be read again."""
        rows = self._select("SELECT revision FROM sources WHERE path = ?", source)
        return next((str(revision) for (revision,) in rows), None)

    def sources(self) -> set[str]:
        """Return the sources that have documents."""
        return {str(source) for (source,) in self._select("SELECT DISTINCT source FROM documents")}

    def all_sources(self) -> set[str]:
        """Return all sources that were read, including those without documents."""
        return self.sources().union(str(path) for (path,) in self._select("SELECT path FROM sources"))

    def is_taken(self, name: str, revision: str) -> bool:
        """Return whether ``name`` is a document key, or a source, that was read with a different revision."""
        row = self.document(name)
        if row is not None and row.source != name:
            return True
        if (before := self.revision(name)) == revision:
            return False
        return row is not None or before is not None or bool(self.by_source(name))

    def _rows(self, condition: str, value: object) -> Iterator[DocumentRow]:
        query = f"SELECT id, key, source, hash, gone FROM documents WHERE {condition} ORDER BY id"
        for number, key, source, content, gone in self._select(query, value):
            yield DocumentRow(number, key, source, content, bool(gone))

    def _select(self, query: str, *values: object) -> Iterable[tuple[Any, ...]]:
        return () if self._database is None else self._database.execute(query, values).fetchall()


@dataclass(frozen=True, slots=True)
class Pending:
    """A new or changed document that is not encoded yet; ``content`` is its hash."""

    document: Document
    source: str
    content: bytes
    passages: list[Passage]


@dataclass(slots=True)
class SourceChanges:
    """The documents that this update has read from one source.

    ``keys`` are the documents seen in it, ``replaced`` the rows of those that changed, ``returned`` those that had been gone
    and are back; ``inserted`` are the new rows in the draft, ``added`` counts the documents new to the index.
    """

    keys: set[str] = field(default_factory=set)
    replaced: list[DocumentRow] = field(default_factory=list)
    returned: list[DocumentRow] = field(default_factory=list)
    inserted: list[int] = field(default_factory=list)
    added: int = 0

    def count(self, report: Report) -> None:
        """Add the document counts to a report."""
        report.added += self.added
        report.changed += len(self.replaced)
        report.unchanged += len(self.keys) - self.added - len(self.replaced)


def read_current_state(folder: Path, settings: Settings, kind: ContentKind) -> CurrentState:
    """Read what an index contains.

    Raises IndexStateError if the documents are damaged, if the index was built with other settings than ``settings``
    (``quality`` may differ), or if its contents are not of this ``kind``.
    """
    generation = newest_generation(folder)
    if generation is None:
        return CurrentState()
    damaged = damaged_before_update(generation)
    if lost := {DOCUMENTS, CHANGES}.intersection(damaged):
        raise IndexStateError(damage_message(generation / lost.pop()))
    database = store.open_documents(generation)
    try:
        built_with = store.read_settings(database)
        _check_settings(folder, settings, built_with)
        if (content := store.read_setting(database, "holds")) != kind:
            data = "; the data's passages need an index of their own" if content == "documents" else ""
            raise IndexStateError(f"{folder}: this index holds {content}, not {kind}{data}; name another folder")
        name_keys(database)
        return CurrentState(
            generation=generation,
            fingerprint=store.read_setting(database, "fingerprint"),
            quality=built_with.quality,
            passages=count_passages(database),
            damaged=damaged,
            _database=database,
        )
    except BaseException:
        database.close()
        raise


def _check_settings(folder: Path, settings: Settings, built_with: Settings) -> None:
    for name in ("model", "passage_tokens", "language", "truncate_dim", "engine"):
        wanted, actual = getattr(settings, name), getattr(built_with, name)
        if wanted != actual:
            option = "--" + name.replace("_", "-")
            before = f"with {option} {actual}, not {wanted}" if actual is not None else f"without {option}"
            raise IndexStateError(f"{folder}: it was built {before}; omit the option, or index into a new folder")


def existing_settings(folder: Path) -> Settings | None:
    """Return the settings of an index, or None if no update of it was ever completed."""
    return None if newest_generation(folder) is None else _read(folder, store.read_settings)


def existing_prompts(folder: Path) -> Prompts:
    """Return the prompts that an index was built with."""
    return Prompts() if newest_generation(folder) is None else _read(folder, store.recorded_prompts)


def _read(folder: Path, read: Callable[[sqlite3.Connection], T]) -> T:
    def read_from(generation: Path) -> T:
        with closing(store.open_documents(generation)) as database:
            return read(database)

    return with_newest(folder, read_from)


def chosen_settings(folder: Path, settings: Settings | None, model: str | Path | None) -> Settings:
    """Return the ``settings`` for an update, or those of the existing index, or the defaults; ``model`` replaces theirs.

    A Hub model named without a revision means the commit that the existing index was built with. Raises InputError for
    settings of another type, and if the model is named twice.
    """
    if settings is not None and not isinstance(settings, Settings):
        raise InputError(f"settings are Settings(...), not {kind_of(settings)}; a model is named by model=")
    if settings is not None and model is not None:
        raise InputError("name the model in settings, or by model=, not by both")
    existing = existing_settings(folder)
    settings = settings or existing or Settings()
    if model is not None:
        settings = replace(settings, model=str(model))
    if existing is not None and is_same_model(settings.model, existing.model):
        settings = replace(settings, model=existing.model)
    return settings


@contextmanager
def write_lock(folder: Path, doing: str = "writing this index", mode: int = 0o777) -> Iterator[None]:
    """Create the folder, with this mode less the umask, and hold its lock.

    A new folder in which nothing was written is removed if the block fails. Raises IndexStateError, with what the other is
    ``doing``, if another process holds the lock, and InputError if the folder cannot be created.
    """
    is_new = not folder.exists()
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
        lock = lock_file(folder / "lock")
    except Timeout:
        raise IndexStateError(f"{folder}: another process is {doing}; wait until it has finished") from None
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{folder}: it is a file; an index is a folder") from None
    except OSError as error:
        reason = f"it cannot be written ({error.strerror})"
        raise InputError(f"{folder}: {reason}; make it writable, or use a folder that is") from error
    with lock:
        try:
            yield
        except BaseException:
            with suppress(OSError):  # the folder is gone, another process has taken it, or the system keeps locked files
                if is_new and [file.name for file in folder.iterdir()] == ["lock"]:
                    (folder / "lock").unlink()
                    folder.rmdir()
            raise


@contextmanager
def name_write_errors(folder: Path) -> Iterator[None]:
    """Turn a full or read-only disk into a one-line IndexStateError. Errors in documents are caught earlier."""
    try:
        yield
    except store.SQLITE_ERRORS as error:
        if store.is_damage(error):  # what was intact at the start
            reason = f"a file was damaged during this update ({describe(error)})"
            raise IndexStateError(f"{folder}: {reason}; run the command again") from error
        raise IndexStateError(_write_failure(folder, str(error))) from error
    except OSError as error:
        reason = error.strerror or f"a file was written in part, {error}: the disk is full"
        raise IndexStateError(_write_failure(folder, reason)) from error


def _write_failure(folder: Path, reason: str) -> str:
    state = "" if newest_generation(folder) is None else "; searches see the state before this update"
    return (
        f"{folder}: it cannot be written ({reason}){state}; free some space or make it writable, then run the command again"
    )


def check_empty(folder: Path, allowed: Iterable[str] = ()) -> None:
    """Check that a new index's folder is empty or does not exist; raises InputError or IndexStateError otherwise.

    The names in ``allowed`` may remain there from an interrupted update.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; an index is a folder")
    names = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    ours = {"lock", DRAFT, JOURNAL, COLLECTIONS, *allowed} if "lock" in names else set()  # every update begins with the lock
    foreign = sorted(names - ours)
    if foreign:
        raise InputError(f"{folder}: it holds {foreign[0]!r}, which is not an index; use a new or empty folder")
