"""Read one document of an index by its name, without a search."""

from __future__ import annotations

import difflib
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from oreqa.core import Passage
from oreqa.corpus.files import full_path
from oreqa.errors import IndexStateError, InputError
from oreqa.index.documents import stored_passages
from oreqa.index.generations import DOCUMENTS, damage_message, damaged_files, with_newest
from oreqa.index.store import open_documents

_LISTED = 5
"""How many documents an error message lists at most."""

_SELECT, _IN_ORDER = "SELECT id, key FROM documents", "ORDER BY length(key), key"
"""By length first: a table's second row comes before its tenth."""

# What separates a document's name from a location after it: ":12", ", page 3", "#anchor".
_LOCATION = re.compile(r":(?=\d+$)|, |#")


def read_document(folder: Path, name: str) -> list[Passage]:
    """Return the passages of one document, in order. Loads neither a model nor vectors.

    ``name`` is the document's key, a path to it, or the last components of either; a location after it, as in
    ``notes.md:12``, is ignored. Raises InputError if no document or more than one has this name, IndexStateError if the
    index cannot be read.
    """
    return with_newest(folder, lambda generation: _read(generation, name))


def _read(generation: Path, name: str) -> list[Passage]:
    if DOCUMENTS in damaged_files(generation, whole=False):
        raise IndexStateError(damage_message(generation / DOCUMENTS))
    with closing(open_documents(generation)) as database:
        try:
            document = _find(database, name)
            rows = database.execute("SELECT id FROM passages WHERE document = ?", (document,))
            passages = stored_passages(database, [row[0] for row in rows])
        except sqlite3.Error as error:
            raise IndexStateError(f"{damage_message(generation / DOCUMENTS)} ({error})") from error
    return sorted((passage for passage, _ in passages.values()), key=lambda passage: passage.start)


def _find(database: sqlite3.Connection, name: str) -> int:
    """Return the id of the document with this name: as it is, else with a location at its end removed."""
    without_location = [name[: mark.start()] for mark in _LOCATION.finditer(name)]
    for candidate in (name, *reversed(without_location)):
        for condition, value in (
            ("key = ?", candidate),
            ("key = ?", _absolute(candidate)),
            ("source = ?", _absolute(candidate)),
            ("substr('/' || key, -length(?1)) = ?1", f"/{candidate}"),
            ("substr('/' || source, -length(?1)) = ?1", f"/{candidate}"),
        ):
            rows = database.execute(f"{_SELECT} WHERE {condition} {_IN_ORDER}", (value,)).fetchall()
            if len(rows) == 1:
                return int(rows[0][0])
            if rows:
                listed = ", ".join(key for _, key in rows[:_LISTED]) + (", ..." if len(rows) > _LISTED else "")
                raise InputError(f"{name}: {len(rows):,} documents have this name; choose one: {listed}")
    raise InputError(f"{name}: the index has no document with this name{_suggestions(database, name)}")


def _absolute(name: str) -> str:
    """Return the absolute path; a table's row number after ``#`` is kept."""
    path, mark, row = name.partition("#")
    try:
        return str(full_path(Path(path).expanduser())) + mark + row if path else name
    except RuntimeError:  # the home of a user who does not exist
        return name


def _suggestions(database: sqlite3.Connection, name: str) -> str:
    """Return a list of similar names, to end an error message with."""
    keys = {key.rpartition("/")[2].lower(): key for (key,) in database.execute("SELECT key FROM documents LIMIT 20000")}
    wanted = name.rpartition("/")[2].lower()
    similar = [keys[short] for short in keys if wanted and wanted in short]
    similar = similar or [keys[short] for short in difflib.get_close_matches(wanted, keys, _LISTED)]
    return f"; did you mean: {', '.join(similar[:_LISTED])}?" if similar else ""
