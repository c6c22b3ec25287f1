"""Drafts of documents: either the changes of one update next to shared documents, or everything rewritten.

Writing a change costs what changed. Once the changes exceed a share of the whole, everything is rewritten, and deleted
content leaves the disk.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Ids
from oreqa.index.generations import CHANGES, DOCUMENTS, link_file, read_manifest, require_intact
from oreqa.index.schema import NUMBERED, create_tables, is_shared, show_as_one
from oreqa.index.store import connect_draft, note_removed, open_documents, open_draft, transaction, unchanging

_SHARE = 8
"""Changes are stored separately until their size reaches one in ``_SHARE`` bytes of the documents."""


def begin_draft(generation: Path, folder: Path) -> sqlite3.Connection:
    """Open a draft in ``folder`` of a generation's content."""
    with closing(open_documents(generation)) as before:
        is_old = not has_keys(before)
    if is_old:
        shutil.copyfile(generation / DOCUMENTS, folder / DOCUMENTS)
        database = open_draft(folder)
        database.execute("CREATE INDEX documents_key ON documents(key)")
        return database
    link_file(generation / DOCUMENTS, folder / DOCUMENTS)
    if has_changes := (generation / CHANGES).is_file():
        shutil.copyfile(generation / CHANGES, folder / CHANGES)
    database = connect_draft(folder / CHANGES)
    if not has_changes:
        create_tables(database, changes=True)
    note_removed(database)
    show_as_one(database, unchanging(folder / DOCUMENTS))
    if not has_changes:
        with transaction(database):
            for table in ("settings", "compounds"):
                database.execute(f"INSERT INTO main.{table} SELECT * FROM whole.{table}")
            _set_last_ids(database, "whole", "main")
    return database


def has_keys(database: sqlite3.Connection) -> bool:
    """Return whether documents can be looked up by key; files written before updates shared documents have no index."""
    return bool(database.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'documents_key'").fetchone())


def name_keys(database: sqlite3.Connection) -> None:
    """Give a connection a ``keys`` lookup of document ids, which older files have no index for."""
    if has_keys(database):
        database.execute("CREATE TEMP VIEW keys AS SELECT key, id FROM documents")
    else:
        database.execute("CREATE TEMP TABLE keys AS SELECT key, id FROM documents")
        database.execute("CREATE INDEX temp.keys_key ON keys(key)")


def count_passages(database: sqlite3.Connection) -> int:
    """Return the number of passages."""
    return _noted(database, "passages")


def count_documents(database: sqlite3.Connection) -> int:
    """Return the number of documents."""
    return _noted(database, "documents")


def _noted(database: sqlite3.Connection, table: str) -> int:
    """Return the number of current rows in a table, as recorded by an update; older files are counted."""
    row = database.execute("SELECT value FROM main.settings WHERE key = ?", (table,)).fetchone()
    return int(row[0]) if row else int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])


def passage_ids(database: sqlite3.Connection) -> Ids:
    """Return the ids of all passages, rising."""
    return np.fromiter((row[0] for row in database.execute("SELECT id FROM passages ORDER BY id")), np.int64)


def _set_last_ids(database: sqlite3.Connection, source: str, target: str) -> None:
    """Make new rows of the ``target`` get ids above all that the ``source`` ever assigned."""
    database.execute(f"DELETE FROM {target}.sqlite_sequence")
    for table in NUMBERED:
        query = (
            f"SELECT MAX(COALESCE((SELECT MAX(id) FROM {source}.{table}), 0), "
            f"COALESCE((SELECT seq FROM {source}.sqlite_sequence WHERE name = ?), 0))"
        )
        (last,) = database.execute(query, (table,)).fetchone()
        database.execute(f"INSERT INTO {target}.sqlite_sequence(name, seq) VALUES (?, ?)", (table, last))


def delete_documents(database: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Delete documents of a draft with everything that belongs to them."""
    rows = [(number,) for number in ids]
    if is_shared(database):
        database.executemany("INSERT OR IGNORE INTO removed SELECT id FROM whole.passages WHERE document = ?", rows)
        for table in ("removed_documents", "replaced_rows"):
            query = f"INSERT OR IGNORE INTO main.{table} SELECT id FROM whole.documents WHERE id = ?"
            database.executemany(query, rows)
    database.executemany("DELETE FROM main.documents WHERE id = ?", rows)


def set_missing(database: sqlite3.Connection, ids: Iterable[int], missing: bool) -> None:
    """Record whether the sources of a draft's documents still contain them."""
    rows = [(number,) for number in ids]
    if is_shared(database):
        row = "SELECT * FROM whole.documents WHERE id = ? AND id NOT IN (SELECT id FROM main.replaced_rows)"
        database.executemany(f"INSERT INTO main.documents {row}", rows)
        database.executemany("INSERT OR IGNORE INTO main.replaced_rows SELECT id FROM whole.documents WHERE id = ?", rows)
    database.executemany(f"UPDATE main.documents SET gone = {int(missing)} WHERE id = ?", rows)


def delete_sources(database: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Delete the records of sources of a draft."""
    rows = [(path,) for path in paths]
    if is_shared(database):
        database.executemany(
            "INSERT OR IGNORE INTO main.removed_sources SELECT path FROM whole.sources WHERE path = ?", rows
        )
    database.executemany("DELETE FROM main.sources WHERE path = ?", rows)


def write_sources(database: sqlite3.Connection, revisions: Mapping[str, str | None]) -> None:
    """Record the revisions at which sources of a draft were read; those with None are read again."""
    delete_sources(database, revisions)
    rows = [pair for pair in revisions.items() if pair[1] is not None]
    database.executemany("INSERT INTO main.sources VALUES (?, ?)", rows)


def shared_documents(generation: Path | None, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the manifest row of the documents that a draft shares with a generation, if it does."""
    if generation is None or not (folder / CHANGES).is_file():
        return {}
    return {DOCUMENTS: read_manifest(generation)[DOCUMENTS]}


def compacted(database: sqlite3.Connection, folder: Path, generation: Path | None, always: bool) -> sqlite3.Connection:
    """Rewrite a draft whose changes are a large share of a ``generation``, or ``always``, and open the result.

    Deleted content leaves no copy. A few changes are applied to a copy of the documents, which costs little more than the
    copy. Raises IndexStateError if the documents were damaged after they were written.
    """
    if generation is None or not is_shared(database):
        return database
    are_few = _SHARE * (folder / CHANGES).stat().st_size <= (folder / DOCUMENTS).stat().st_size
    if are_few and not always:
        return database
    require_intact(generation, [DOCUMENTS])
    whole = folder / f"{DOCUMENTS}.whole"
    removed = database.execute("SELECT id FROM removed").fetchall()
    if not are_few:
        _write_whole(database, whole)
    database.close()
    if are_few:
        _change_copy(folder, whole)
    (folder / CHANGES).unlink()
    whole.replace(folder / DOCUMENTS)
    database = open_draft(folder)
    database.executemany("INSERT INTO removed VALUES (?)", removed)
    return database


def rewrite(database: sqlite3.Connection, folder: Path) -> None:
    """Rewrite the documents of a whole draft, and close them.

    SQLite zeroes deleted rows, but not the copies that remain when it moves rows to other pages.
    """
    whole = folder / f"{DOCUMENTS}.whole"
    database.execute("VACUUM main INTO ?", (str(whole.absolute()),))
    database.close()
    whole.replace(folder / DOCUMENTS)


def _write_whole(database: sqlite3.Connection, whole: Path) -> None:
    """Write the documents and their changes into one file, row by row."""
    database.execute("ATTACH ? AS target", (str(whole.absolute()),))
    for pragma in ("journal_mode = OFF", "synchronous = OFF"):
        database.execute(f"PRAGMA target.{pragma}")
    create_tables(database, "target")
    with transaction(database):
        for table in ("settings", "sources", "documents", "passages", "terms", "compounds"):
            database.execute(f"INSERT INTO target.{table} SELECT * FROM {table}")
        database.execute(
            "INSERT INTO target.sentences SELECT * FROM sentences WHERE passage IN (SELECT id FROM target.passages)"
        )
        kept_documents = "WHERE document IN (SELECT id FROM target.documents)"
        database.execute(f"INSERT INTO target.pages SELECT {_OF_PAGES} FROM pages {kept_documents} ORDER BY document, rowid")
        database.execute(f"INSERT INTO target.layouts SELECT * FROM layouts {kept_documents}")
        _set_last_ids(database, "main", "target")


def _change_copy(folder: Path, whole: Path) -> None:
    """Apply the changes of a draft to a copy of its documents, in which SQLite zeroes what it deletes."""
    shutil.copyfile(folder / DOCUMENTS, whole)
    with closing(connect_draft(whole)) as target:
        target.execute("ATTACH ? AS changes", (str((folder / CHANGES).absolute()),))
        with transaction(target):
            target.execute("DELETE FROM main.documents WHERE id IN (SELECT id FROM changes.removed_documents)")
            replaced = "id IN (SELECT id FROM changes.replaced_rows)"
            new_value = "(SELECT gone FROM changes.documents AS new WHERE new.id = main.documents.id)"
            target.execute(f"UPDATE main.documents SET gone = {new_value} WHERE {replaced}")
            target.execute("DELETE FROM main.sources WHERE path IN (SELECT path FROM changes.removed_sources)")
            target.execute(f"INSERT INTO main.documents SELECT * FROM changes.documents WHERE NOT {replaced}")
            for table in ("settings", "compounds"):
                target.execute(f"DELETE FROM main.{table}")
            for table in ("settings", "compounds", "sources", "passages", "terms", "sentences", "layouts"):
                target.execute(f"INSERT INTO main.{table} SELECT * FROM changes.{table}")
            target.execute(f"INSERT INTO main.pages SELECT {_OF_PAGES} FROM changes.pages ORDER BY rowid")
            _set_last_ids(target, "changes", "main")


_OF_PAGES = "document, page, source, read, left_out"
"""The columns of the table of pages."""
