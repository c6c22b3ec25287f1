"""Documents by their names, read from an index without searching it."""

from __future__ import annotations

import difflib
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from oreqa.core import Passage
from oreqa.corpus.files import full_path
from oreqa.errors import IndexStateError, InputError
from oreqa.index.documents import read_passages
from oreqa.index.generations import DOCUMENTS, damage_message, damaged_files, with_newest
from oreqa.index.store import open_documents

_NAMED = 5
"""Documents that an error names."""

# Where a place can begin that is printed behind a document's name: ":12", ", page 3", "#anchor".
_PLACE = re.compile(r":(?=\d+$)|, |#")


def read_document(folder: Path, name: str) -> list[Passage]:
    """The passages of one document, in order. No model is loaded, nor the vectors.

    ``name`` is its key, a path to it, or the end of either, from the beginning of a name in the path; a place behind it, as
    ``notes.md:12``, is passed over. Raises InputError if no document is named so, or several are; IndexStateError if the
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
            passages = read_passages(database, [row[0] for row in rows])
        except sqlite3.Error as error:
            raise IndexStateError(f"{damage_message(generation / DOCUMENTS)} ({error})") from error
    return sorted((passage for passage, _ in passages.values()), key=lambda passage: passage.start)


def _find(database: sqlite3.Connection, name: str) -> int:
    """The id of the document that is named."""
    shorter = [name[: mark.start()] for mark in _PLACE.finditer(name)]
    for tried in (name, *reversed(shorter)):
        for condition, value in (
            ("key = ?", tried),
            ("key = ?", _absolute(tried)),
            ("source = ?", _absolute(tried)),
            ("substr('/' || key, -length(?1)) = ?1", f"/{tried}"),
            ("substr('/' || source, -length(?1)) = ?1", f"/{tried}"),
        ):
            rows = database.execute(f"SELECT id, key FROM documents WHERE {condition} ORDER BY key", (value,)).fetchall()
            if len(rows) == 1:
                return int(rows[0][0])
            if rows:
                listed = ", ".join(key for _, key in rows[:_NAMED]) + (", ..." if len(rows) > _NAMED else "")
                raise InputError(f"{name}: {len(rows):,} documents are named so; name one of them: {listed}")
    raise InputError(f"{name}: the index has no document of this name{_near(database, name)}")


def _absolute(name: str) -> str:
    """A path from the root; the row of a table behind it stays as it is."""
    path, mark, row = name.partition("#")
    try:
        return str(full_path(Path(path).expanduser())) + mark + row if path else name
    except RuntimeError:  # ~ of nobody
        return name


def _near(database: sqlite3.Connection, name: str) -> str:
    """The names most like one that no document has."""
    keys = {key.rpartition("/")[2].lower(): key for (key,) in database.execute("SELECT key FROM documents LIMIT 20000")}
    wanted = name.rpartition("/")[2].lower()
    near = [keys[short] for short in keys if wanted and wanted in short]
    near = near or [keys[short] for short in difflib.get_close_matches(wanted, keys, _NAMED)]
    return f"; near to it: {', '.join(near[:_NAMED])}" if near else ""
