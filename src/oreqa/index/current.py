"""The current generation as a writer finds it: the documents, sources and settings that an update starts from."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from oreqa.errors import IndexStateError
from oreqa.index import store
from oreqa.index.generations import DOCUMENTS, damage_message, damaged_files, newest_generation
from oreqa.index.store import Holds, Settings


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

    ``documents`` maps keys to rows, ``by_source`` sources to their rows, ``stamps`` sources to the stamps they were last
    read with. ``fingerprint`` identifies the model, ``factory`` is the FAISS factory of the search files, ``passages``
    their number, and ``damaged`` names the search files whose checksums no longer match.
    """

    generation: Path | None = None
    fingerprint: str | None = None
    factory: str | None = None
    documents: Mapping[str, DocumentRow] = field(default_factory=dict)
    by_source: Mapping[str, Sequence[DocumentRow]] = field(default_factory=dict)
    stamps: Mapping[str, str] = field(default_factory=dict)
    passages: int = 0
    damaged: Sequence[str] = ()

    def is_taken(self, name: str, stamp: str) -> bool:
        """Return whether ``name`` is the key of a document, or a source, that was read with another stamp than this."""
        row = self.documents.get(name)
        if row is not None and row.source != name:
            return True
        exists = row is not None or name in self.by_source or name in self.stamps
        return exists and self.stamps.get(name) != stamp


def read_current_state(folder: Path, settings: Settings, holds: Holds) -> CurrentState:
    """Read what an index holds.

    Raises IndexStateError if the documents are damaged, if the index was built with other settings than ``settings``
    (``factory`` may differ), or if it does not hold what ``holds`` says.
    """
    generation = newest_generation(folder)
    if generation is None:
        return CurrentState()
    damaged = damaged_files(generation)
    if DOCUMENTS in damaged:
        raise IndexStateError(damage_message(generation / DOCUMENTS))
    with closing(store.open_documents(generation)) as database:
        built_with = store.read_settings(database)
        _check_settings(folder, settings, built_with)
        if (content := store.read_setting(database, "holds")) != holds:
            raise IndexStateError(f"{folder}: this index holds {content}, not {holds}; use another folder")
        documents, by_source = _read_documents(database)
        (passages,) = database.execute("SELECT COUNT(*) FROM passages").fetchone()
        return CurrentState(
            generation=generation,
            fingerprint=store.read_setting(database, "fingerprint"),
            factory=built_with.factory,
            documents=documents,
            by_source=by_source,
            stamps=dict(database.execute("SELECT path, stamp FROM sources")),
            passages=passages,
            damaged=damaged,
        )


def _check_settings(folder: Path, settings: Settings, built_with: Settings) -> None:
    for name in ("model", "passage_tokens", "language"):
        wanted, actual = getattr(settings, name), getattr(built_with, name)
        if wanted != actual:
            option = "--" + name.replace("_", "-")
            raise IndexStateError(
                f"{folder}: it was built with {option} {actual}, not {wanted}; omit the option, or index into a new folder"
            )


def _read_documents(database: sqlite3.Connection) -> tuple[dict[str, DocumentRow], dict[str, list[DocumentRow]]]:
    """Return the rows of all documents, by key and by source."""
    by_key: dict[str, DocumentRow] = {}
    by_source: dict[str, list[DocumentRow]] = defaultdict(list)
    for number, key, source, content, gone in database.execute("SELECT id, key, source, hash, gone FROM documents"):
        by_key[key] = row = DocumentRow(number, key, source, content, bool(gone))
        by_source[source].append(row)
    return by_key, dict(by_source)
