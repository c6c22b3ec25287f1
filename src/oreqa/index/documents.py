"""The rows of documents, their passages and sentences: written by updates, read by searches and by name."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from oreqa.arguments import Conditions
from oreqa.core import Document, Passage, Place, Sentence
from oreqa.corpus.splitter import SPLITTER_VERSION
from oreqa.errors import IndexStateError, InputError
from oreqa.index.folders import path_filter
from oreqa.index.generations import CHANGES, DOCUMENTS, damage_message, damaged_files, with_newest
from oreqa.index.revisions import State, file_state
from oreqa.index.similar import suggestions
from oreqa.index.store import chunks, open_documents
from oreqa.paths import full_path


def insert_document(
    draft: sqlite3.Connection, document: Document, source: str, content: bytes, passages: list[Passage], hashes: list[bytes]
) -> int:
    """Write a document and its passages, each with the hash of its encoding; return the document's id."""
    fields = json.dumps(dict(document.fields), ensure_ascii=False)
    row = draft.execute(
        "INSERT INTO main.documents(key, source, title, fields, hash) VALUES (?, ?, ?, ?, ?)",
        (document.key, source, document.title, fields, content),
    ).lastrowid
    for passage, encoding in zip(passages, hashes, strict=True):
        number = draft.execute(
            "INSERT INTO main.passages(document, heading, text, start, places, encoding) VALUES (?, ?, ?, ?, ?, ?)",
            (row, passage.heading, passage.text, passage.start, _places_column(passage.places), encoding),
        ).lastrowid
        draft.executemany(
            "INSERT INTO main.sentences(passage, start, end) VALUES (?, ?, ?)",
            [(number, s.start, s.end) for s in passage.sentences],
        )
    draft.executemany(
        "INSERT INTO main.pages(document, page, source, read, left_out) VALUES (?, ?, ?, ?, ?)",
        [(row, page.page, page.source, page.read, json.dumps(dict(page.left_out))) for page in document.pages],
    )
    if document.layout:
        draft.execute("INSERT INTO main.layouts VALUES (?, ?)", (row, document.layout))
    assert row is not None
    return row


def document_hash(document: Document, passages: Iterable[Passage] | None) -> bytes:
    """Return a hash of everything that determines a document's index content, including passages if passed."""
    boundaries = None
    if passages is not None:
        boundaries = [[p.start, p.heading, p.text, [[s.start, s.end] for s in p.sentences]] for p in passages]
    parts = [
        SPLITTER_VERSION,
        document.title,
        document.text,
        [[s.start, s.end, s.heading] for s in document.sections],
        [[p.start, p.name, p.line, p.source] for p in document.places],
        dict(document.fields),
        boundaries,
        document.layout.hex(),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def field_filter(where: Conditions) -> tuple[str, list[str]]:
    """Return the SQL condition, with its parameters, for documents that have one of the values in every field.

    ``title`` and ``path`` are fields of every document, and so is ``document_id`` unless there is a column of that name.
    """
    parts: list[str] = ["1"]
    parameters: list[str] = []
    for name, values in where:
        if len(values) > _MOST_VALUES:
            raise InputError(f"the condition on {name!r} has {len(values):,} values; it may have {_MOST_VALUES:,}")
        for value in values:
            _check_condition(name, value)
        marks = ", ".join("?" * len(values))
        if name == "path":
            condition, path_parameters = path_filter(values)
            parts.append(condition)
            parameters += path_parameters
        elif name == "title":
            parts.append(f"title IN ({marks})")
            parameters += values
        else:
            parts.append(f"EXISTS (SELECT 1 FROM json_each(fields) WHERE key = ? AND value IN ({marks}))")
            parameters += [name, *values]
            if name == "document_id":
                parts[-1] = f"({parts[-1]} OR document_id(documents.key) IN ({marks}))"
                parameters += values
    return " AND ".join(parts), parameters


def _check_condition(name: str, value: str) -> None:
    """Raise InputError for a condition that SQLite cannot handle."""
    if len(name) + len(value) > _LONGEST_CONDITION:
        raise InputError(f"a condition has {len(name) + len(value):,} characters; it may have {_LONGEST_CONDITION:,}")
    if not f"{name}{value}".isprintable() and not _is_utf8(f"{name}{value}"):
        message = f"the condition {name}={value} holds bytes that are no UTF-8: write it again"
        raise InputError(message.encode("ascii", "backslashreplace").decode())


def check_fields(database: sqlite3.Connection, where: Conditions) -> None:
    """Raise InputError for a condition on a field that no document has."""
    rows = database.execute("SELECT DISTINCT j.key FROM documents, json_each(documents.fields) AS j")
    fields = {"title", "path", *(row[0] for row in rows)}
    for name, _ in where:
        if name not in fields and name != "document_id":
            names = sorted(fields)
            listed = ", ".join(names[:_FIELDS_LISTED]) + (", ..." if len(names) > _FIELDS_LISTED else "")
            raise InputError(f"no document has a field {name!r}; fields are: {listed}")


_FIELDS_LISTED = 30
_LONGEST_CONDITION = 4096
_MOST_VALUES = 1000


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def fields_of(text: str) -> dict[str, str]:
    """Return a document's fields from their column."""
    return {str(k): str(v) for k, v in json.loads(text).items()}


def _places_column(places: Iterable[Place]) -> str:
    return json.dumps([[p.start, p.name, p.line, p.source] for p in places], ensure_ascii=False) if places else ""


def _places_of(text: str) -> tuple[Place, ...]:
    return tuple(Place(*row) for row in json.loads(text)) if text else ()


def stored_passages(database: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[Passage, dict[int, Sentence]]]:
    """Return passages by id, each with its sentences by id."""
    passages = {}
    for batch in chunks(sorted(ids), 500):
        marks = ",".join("?" * len(batch))
        spans: dict[int, dict[int, tuple[int, int]]] = {number: {} for number in batch}
        for number, passage, start, end in database.execute(
            f"SELECT id, passage, start, end FROM sentences WHERE passage IN ({marks}) ORDER BY id", batch
        ):
            spans[passage][number] = (start, end)
        for number, key, title, fields, heading, text, start, places in database.execute(
            "SELECT passages.id, key, title, fields, heading, text, start, places FROM passages "
            f"JOIN documents ON documents.id = document WHERE passages.id IN ({marks})",
            batch,
        ):
            sentences = {i: Sentence(text[a - start : b - start], a, b) for i, (a, b) in spans[number].items()}
            passage = Passage(
                document_key=key,
                title=title,
                heading=heading,
                text=text,
                start=start,
                end=start + len(text),
                sentences=tuple(sentences.values()),
                fields=fields_of(fields),
                places=_places_of(places),
            )
            passages[number] = (passage, sentences)
    return passages


def stored_beginning(
    select: Callable[[str, Sequence[object]], list[tuple[Any, ...]]], passage_id: int, characters: int
) -> tuple[str, str]:
    """Return the source of a passage's document, and its text from the beginning, up to ``characters`` characters.

    ``select`` is that of a snapshot.
    """
    ((source, document),) = select(
        "SELECT source, d.id FROM passages JOIN documents AS d ON d.id = document WHERE passages.id = ?", (passage_id,)
    )
    rows = select("SELECT start, text FROM passages WHERE document = ? ORDER BY id LIMIT ?", (document, _FIRST_PASSAGES))
    return source, "\n\n".join(text[: max(0, characters - start)] for start, text in rows if start < characters)


def stored_layout(select: Callable[[str, Sequence[object]], list[tuple[Any, ...]]], document: int) -> bytes:
    """Return the packed positions of a PDF's text on its pages; empty for other formats.

    ``select`` is that of a snapshot.
    """
    rows = select("SELECT packed FROM layouts WHERE document = ?", (document,))
    return bytes(rows[0][0]) if rows else b""


def stored_state(select: Callable[[str, Sequence[object]], list[tuple[Any, ...]]], key: str) -> tuple[str, State]:
    """Return a document's source, and whether that has changed since indexing. ``select`` is that of a snapshot."""
    query = "SELECT source, gone, (SELECT revision FROM sources WHERE path = source) FROM documents WHERE key = ?"
    for source, gone, revision in select(query, (key,)):
        return source, "gone" if gone else file_state(source, revision)
    return key, "none"


_FIRST_PASSAGES = 10
"""The most passages read from a document's beginning."""

_LISTED = 5
"""The most documents that an error message lists."""

_SELECT, _IN_ORDER = "SELECT id, key, source FROM documents", "ORDER BY length(key), key"
"""By length first: a table's second row comes before its tenth."""

# What separates a document's name from a location after it: ":12", ", page 3", "#anchor".
_LOCATION = re.compile(r":(?=\d+$)|, |#")


def read_document(folder: Path, name: str) -> list[Passage]:
    """Return the passages of one document, in order. Loads neither a model nor vectors.

    ``name`` is the document's key, a path to it, the last components of either, or its title; a location after it, as in
    ``notes.md:12``, is ignored. Raises InputError unless exactly one document has this name, IndexStateError if the index
    cannot be read.
    """
    return with_newest(folder, lambda generation: _read(generation, name))


def _read(generation: Path, name: str) -> list[Passage]:
    if damaged := {DOCUMENTS, CHANGES}.intersection(damaged_files(generation, whole=False)):
        raise IndexStateError(damage_message(generation / damaged.pop()))
    with closing(open_documents(generation)) as database:
        try:
            (document,) = find_documents(database, name)
            rows = database.execute("SELECT id FROM passages WHERE document = ?", (document,))
            passages = stored_passages(database, [row[0] for row in rows])
        except sqlite3.Error as error:
            raise IndexStateError(f"{damage_message(generation / DOCUMENTS)} ({error})") from error
    return sorted((passage for passage, _ in passages.values()), key=lambda passage: passage.start)


def find_documents(database: sqlite3.Connection, name: str, whole_files: bool = False) -> list[int]:
    """Return the ids of the documents with this name: as is, else with a location at its end removed.

    With ``whole_files``, the name of a file of many documents, such as a table or an archive, means all of them, and that of
    a folder all in it. Raises InputError if no document has this name, or several do.
    """
    without_location = [name[: mark.start()] for mark in _LOCATION.finditer(name)]
    for candidate in (name, *reversed(without_location)):
        for condition, value in (
            ("key = ?", candidate),
            ("key = ?", _absolute(candidate)),
            ("source = ?", _absolute(candidate)),
            ("substr('/' || key, -length(?1)) = ?1", f"/{candidate}"),
            ("substr('/' || source, -length(?1)) = ?1", f"/{candidate}"),
            ("substr('#' || key, -length(?1)) = ?1", f"#{candidate}"),  # in an archive
            ("title = ?", candidate),
        ):
            rows = database.execute(f"{_SELECT} WHERE {condition} {_IN_ORDER}", (value,)).fetchall()
            is_file = whole_files and "source" in condition and len({source for _, _, source in rows}) == 1
            if len(rows) == 1 or is_file:
                return [int(number) for number, _, _ in rows]
            if rows:
                listed = ", ".join(key for _, key, _ in rows[:_LISTED]) + (", ..." if len(rows) > _LISTED else "")
                raise InputError(f"{name}: {len(rows):,} documents have this name; choose one: {listed}")
    if whole_files and (numbers := _in_folder(database, name)):
        return numbers
    near = suggestions(lambda query: database.execute(query).fetchall(), name)
    raise InputError(f"{name}: the index has no document with this name{near}")


def _in_folder(database: sqlite3.Connection, name: str) -> list[int]:
    """Return the ids of the documents in a folder; empty if the name is no folder of theirs."""
    condition, values = path_filter([re.sub(r"[*?\\]", r"\\\g<0>", _absolute(name))])
    return [int(number) for (number,) in database.execute(f"SELECT id FROM documents WHERE {condition}", values)]


def _absolute(name: str) -> str:
    """Return the absolute path; a table's row number after ``#`` is kept."""
    path, mark, row = name.partition("#")
    try:
        return str(full_path(Path(path).expanduser())) + mark + row if path else name
    except (RuntimeError, InputError):  # the home of a user who does not exist; a working directory that is gone
        return name


def any_matches(select: Callable[[str, Sequence[object]], list[tuple[Any, ...]]], where: Conditions) -> bool:
    """Return whether any document meets the conditions. ``select`` is that of a snapshot."""
    condition, values = field_filter(where)
    return bool(select(f"SELECT 1 FROM documents WHERE {condition} LIMIT 1", values))
