"""The tables of an index's documents, and how two database files are read as one.

``documents.db`` is shared by generations and never changes. ``changes.db`` next to it has the same tables for later
additions, the settings and the words of compounds, and lists the replaced documents and sources of the first.
"""

from __future__ import annotations

import re
import sqlite3

SCHEMA = """
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- Files as they were last read, so that unchanged files are not parsed again.
CREATE TABLE sources(path TEXT PRIMARY KEY, revision TEXT NOT NULL) WITHOUT ROWID;
-- No id is given twice. gone: the document was no longer in its source at the last update. It stays until it is pruned.
CREATE TABLE documents(
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL,
    fields TEXT NOT NULL, hash BLOB NOT NULL, gone INTEGER NOT NULL DEFAULT 0);
CREATE INDEX documents_key ON documents(key);
CREATE INDEX documents_source ON documents(source);
-- encoding: the hash of the passage's encoder input, by which a later update takes over its vectors.
CREATE TABLE passages(
    id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    heading TEXT NOT NULL, text TEXT NOT NULL, start INTEGER NOT NULL, places TEXT NOT NULL, encoding BLOB NOT NULL);
CREATE INDEX passages_document ON passages(document);
CREATE INDEX passages_encoding ON passages(encoding);
-- Words per page of a document: in the source, extracted, and left out by reason.
CREATE TABLE pages(
    document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    page TEXT NOT NULL, source INTEGER NOT NULL, read INTEGER NOT NULL, left_out TEXT NOT NULL);
CREATE INDEX pages_document ON pages(document);
CREATE TABLE sentences(
    id INTEGER PRIMARY KEY AUTOINCREMENT, passage INTEGER NOT NULL REFERENCES passages ON DELETE CASCADE,
    start INTEGER NOT NULL, end INTEGER NOT NULL);
CREATE INDEX sentences_passage ON sentences(passage);
-- The numbers of words.
CREATE TABLE terms(id INTEGER PRIMARY KEY AUTOINCREMENT, term TEXT NOT NULL UNIQUE);
-- The two words that a word is made of, in a language whose compounds are split.
CREATE TABLE compounds(compound INTEGER NOT NULL, part INTEGER NOT NULL);
-- Where the text of PDFs stands on their pages.
CREATE TABLE layouts(
    document INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE, packed BLOB NOT NULL);
"""

_OF_CHANGES = """
-- What counts no longer of what is written whole: documents, and rows of documents of which the changes may have another.
CREATE TABLE removed_documents(id INTEGER PRIMARY KEY);
CREATE TABLE replaced_rows(id INTEGER PRIMARY KEY);
CREATE TABLE removed_sources(path TEXT PRIMARY KEY) WITHOUT ROWID;
"""

NUMBERED = ("documents", "passages", "sentences", "terms")
"""The tables whose rows have their own ids."""

# The current rows of the whole file, one query per table; the changes are appended. SQLite uses the indexes of both tables
# for such a view as long as its columns are plain columns.
_COUNTING = {
    "documents": "SELECT * FROM whole.documents WHERE id NOT IN (SELECT id FROM main.replaced_rows)",
    "passages": "SELECT * FROM whole.passages WHERE document NOT IN (SELECT id FROM main.removed_documents)",
    "pages": "SELECT rowid AS rowid, * FROM whole.pages",
    "sentences": "SELECT * FROM whole.sentences",
    "layouts": "SELECT * FROM whole.layouts",
    "sources": "SELECT * FROM whole.sources WHERE path NOT IN (SELECT path FROM main.removed_sources)",
    "terms": "SELECT * FROM whole.terms",
}


def create_tables(database: sqlite3.Connection, name: str = "main", changes: bool = False) -> None:
    """Create the tables in a connection's database; with ``changes``, those of a file of changes."""
    for statement in (SCHEMA + _OF_CHANGES if changes else SCHEMA).split(";\n"):
        database.execute(re.sub(r"CREATE (TABLE|INDEX) ", rf"CREATE \1 {name}.", statement))


def show_as_one(database: sqlite3.Connection, whole: str) -> None:
    """Make the tables of a connection to changes include those of the ``whole`` file, given by its URI.

    SQLite looks up table names among the temporary ones first.
    """
    database.execute("ATTACH ? AS whole", (whole,))
    for table, counting in _COUNTING.items():
        columns = "rowid AS rowid, *" if table == "pages" else "*"
        database.execute(f"CREATE TEMP VIEW {table} AS {counting} UNION ALL SELECT {columns} FROM main.{table}")


def is_shared(database: sqlite3.Connection) -> bool:
    """Return whether a connection is to changes whose documents are shared with other generations."""
    return any(name == "whole" for _, name, _ in database.execute("PRAGMA database_list"))
