"""The documents of collections by id, a hash of their key: no path comes from a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO
from weakref import WeakKeyDictionary

import numpy as np

from oreqa.arguments import Conditions
from oreqa.arrays import Ids
from oreqa.as_json import document_id
from oreqa.core import Passage
from oreqa.corpus.opening import open_unchanged
from oreqa.index.documents import field_filter, fields_of
from oreqa.index.generations import generation_number
from oreqa.index.revisions import IN_MEMORY, file_state, size_and_time
from oreqa.index.snapshot import Snapshot
from oreqa.server.collections import ServedCollection, chosen
from oreqa.server.problems import RefusedError

_REVISION = "SELECT revision FROM sources WHERE path = documents.source"
_COLUMNS = f"SELECT id, key, source, title, fields, gone, ({_REVISION}) FROM documents"

GONE = "the file is gone, or cannot be read any more; the text is that of the last time"
CHANGED = "the file was changed after it was indexed; index it again to see it here"
"""Why a file is not shown."""


@dataclass(frozen=True, slots=True)
class CatalogDocument:
    """A document of one state of an index.

    ``revision`` is that of its file when it was read, None if the file was still changing or there is none; ``gone``
    says that its file no longer contains it.
    """

    collection: str
    snapshot: Snapshot
    number: int
    key: str
    source: str
    title: str
    fields: Mapping[str, str]
    gone: bool
    revision: str | None

    @property
    def id(self) -> str:
        """Its id in URLs."""
        return document_id(self.key)

    @property
    def file_name(self) -> str:
        """The name of its file, without the folder."""
        name = re.split(r"[/\\]", self.source)[-1]
        return name.encode("utf-8", "replace").decode() or self.id

    @property
    def generation(self) -> int:
        """The number of the state that it belongs to."""
        return generation_number(self.snapshot.generation)


class Catalog:
    """The documents of all collections. It caches the ids of each requested state while that is open."""

    def __init__(self, collections: Mapping[str, ServedCollection]) -> None:
        self._collections = collections
        self._ids: WeakKeyDictionary[Snapshot, tuple[Ids, Ids]] = WeakKeyDictionary()

    def find(self, name: str, collection: str | None) -> CatalogDocument:
        """Return the document with an id, in one collection or the first that has it.

        Raises RefusedError, a 404, if none has.
        """
        for each in chosen(self._collections, collection):
            snapshot = each.index.snapshot()
            with snapshot.reading():
                for number in self._numbers(snapshot, name):
                    rows = snapshot.select(f"{_COLUMNS} WHERE id = ?", (number,))
                    documents = [_document(each.name, snapshot, row) for row in rows]
                    if documents and documents[0].id == name:
                        return documents[0]
        raise RefusedError(404, "there is no document with this id: it may have been removed")

    def _numbers(self, snapshot: Snapshot, name: str) -> list[int]:
        """Return the SQLite ids of the documents with an id."""
        if snapshot not in self._ids:
            rows = snapshot.select("SELECT id, key FROM documents")
            hashes = np.array([_signed(document_id(key)) for _, key in rows], np.int64)
            order = np.argsort(hashes)
            self._ids[snapshot] = hashes[order], np.array([number for number, _ in rows], np.int64)[order]
        hashes, numbers = self._ids[snapshot]
        first, last = (int(np.searchsorted(hashes, _signed(name), side)) for side in ("left", "right"))
        return [int(number) for number in numbers[first:last]]

    def page(self, collection: str, where: Conditions, after: str | None, limit: int) -> tuple[list[CatalogDocument], bool]:
        """Return up to ``limit`` documents in source order, following the id ``after``, and whether there are more.

        Raises RefusedError if that id is gone, InputError for a condition on an unknown field.
        """
        snapshot = self._collections[collection].index.snapshot()
        condition, values = field_filter(where)
        begin: tuple[object, ...] = ()
        if after is not None:
            last = self.find(after, collection)
            condition += " AND (source, id) > (?, ?)"
            begin = (last.source, last.number)
        with snapshot.reading():
            query = f"{_COLUMNS} WHERE {condition} ORDER BY source, id LIMIT ?"
            rows = snapshot.select(query, (*values, *begin, limit + 1))
        return [_document(collection, snapshot, row) for row in rows[:limit]], len(rows) > limit


def _signed(name: str) -> int:
    """Return an id as a signed 64-bit number."""
    return int(name, 16) - (1 << 63)


def _document(collection: str, snapshot: Snapshot, row: tuple[object, ...]) -> CatalogDocument:
    number, key, source, title, fields, gone, revision = row
    assert isinstance(number, int)
    named = fields_of(str(fields))
    state = None if revision is None else str(revision)
    return CatalogDocument(collection, snapshot, number, str(key), str(source), str(title), named, bool(gone), state)


def contents(document: CatalogDocument) -> list[tuple[str, int, int]]:
    """Return the headings of a document, each with the characters where its section begins and ends."""
    query = "SELECT heading, start, start + length(text) FROM passages WHERE document = ? ORDER BY start, id"
    with document.snapshot.reading():
        rows = document.snapshot.select(query, (document.number,))
    runs = [list(run) for _, run in groupby(rows, key=lambda row: row[0])]
    return [(str(run[0][0]), int(run[0][1]), int(run[-1][2])) for run in runs]


def passages_between(
    document: CatalogDocument, start: int | None, end: int | None, around: int, size: int
) -> tuple[list[Passage], bool, bool]:
    """Return whole passages of about ``size`` characters, and whether there are others before and after them.

    They begin at ``start``, end at ``end``, or surround a character; at least one if there are any.
    """
    query = "SELECT id, start, start + length(text) FROM passages WHERE document = ? ORDER BY start, id"
    with document.snapshot.reading():
        rows = document.snapshot.select(query, (document.number,))
        first, last = _window([(row[1], row[2]) for row in rows], start, end, around, size)
        stored = document.snapshot.passages([row[0] for row in rows[first:last]])
    passages = [stored[row[0]][0] for row in rows[first:last]]
    return passages, first > 0, last < len(rows)


def _window(ranges: list[tuple[int, int]], start: int | None, end: int | None, around: int, size: int) -> tuple[int, int]:
    """Return the wanted ranges as first and last index, end-exclusive."""
    if not ranges:
        return 0, 0
    if end is not None:
        last = max(1, sum(begin < end for begin, _ in ranges))
        first = next((n for n in range(last) if ranges[last - 1][1] - ranges[n][0] <= size), last - 1)
        return first, last
    if start is None and ranges[-1][1] - ranges[0][0] <= size:
        return 0, len(ranges)
    if start is None:
        middle = max((n for n, (begin, _) in enumerate(ranges) if begin <= around), default=0)
        first = next((n for n in range(middle) if ranges[middle][1] - ranges[n][0] <= size // 2), middle)
    else:
        first = min(len(ranges) - 1, sum(begin < start for begin, _ in ranges))
    last = max((n + 1 for n in range(first, len(ranges)) if ranges[n][1] - ranges[first][0] <= size), default=first + 1)
    return first, last


def open_original(document: CatalogDocument) -> IO[bytes]:
    """Open a document's file as it was when indexed.

    Raises RefusedError: 404 for a document without a file of its own, 409 if the file has changed.
    """
    if document.gone or document.revision in (None, IN_MEMORY):
        raise RefusedError(404, "this document has no file that was known when it was indexed; index it once more")
    try:
        file = open_unchanged(Path(document.source), *size_and_time(document.revision))
    except OSError:
        raise RefusedError(409, GONE) from None
    if file is None:
        raise RefusedError(409, CHANGED)
    return file


def source_state(document: CatalogDocument) -> tuple[str, str | None]:
    """Return whether its file can be shown ("same") or is "changed", "gone" or "none", and the reason in words."""
    try:
        open_original(document).close()
    except RefusedError as error:
        state = "none" if document.gone else file_state(document.source, document.revision)
        return "changed" if state == "same" else state, error.detail  # it exists, but cannot be read
    return "same", None
