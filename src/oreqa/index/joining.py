"""Joins another index into a draft: documents get new ids, words new numbers, and vectors are shared."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Ints
from oreqa.core import UNITS, Unit
from oreqa.index.drafts import delete_sources
from oreqa.index.generations import read_manifest
from oreqa.index.postings import Postings, renumbered
from oreqa.index.segments import Segment, merge_segments, segment_of, write_segment
from oreqa.index.store import open_documents, transaction
from oreqa.index.terms import Terms
from oreqa.progress import Advance

MOVED = {
    "documents": {"id": "documents"},
    "passages": {"id": "passages", "document": "documents"},
    "pages": {"document": "documents"},
    "sentences": {"id": "sentences", "passage": "passages"},
    "layouts": {"document": "documents"},
}
"""The tables whose rows are copied, with their id columns and the table that each id refers to."""


def join_index(
    database: sqlite3.Connection, generation: Path, segments: Sequence[Segment], draft: Path, advance: Advance
) -> tuple[list[Segment], dict[str, dict[str, Any]]]:
    """Append a generation's content to a draft that contains none of its documents.

    Returns its segments in the draft, and the manifest rows of the files that they share with the generation.
    """
    is_whole = [not len(segment.words["passage"].dead) for segment in segments]
    parts = [segment if whole else merge_segments([segment]) for segment, whole in zip(segments, is_whole, strict=True)]
    with closing(open_documents(generation)) as other, transaction(database):
        offsets = {table: _last_id(database, table) for table, ids in MOVED.items() if "id" in ids}
        for table, ids in MOVED.items():
            _copy_rows(other, database, table, {column: offsets[of] for column, of in ids.items()})
        for table, number in offsets.items():  # no id is assigned twice
            last = number + _last_id(other, table)
            database.execute("UPDATE main.sqlite_sequence SET seq = ? WHERE name = ?", (last, table))
        _copy_sources(other, database)
        numbers = _number_words(other, database, parts)
    manifest, checksums, written = read_manifest(generation), {}, []
    for segment, part, whole in zip(segments, parts, is_whole, strict=True):
        moved = _moved(part, offsets, numbers)
        shared = write_segment(moved, draft, generation / segment.name if whole else None)
        checksums.update({name: manifest[theirs] for name, theirs in shared.items()})
        written.append(moved)
        advance(len(segment))
    return written, checksums


def _last_id(database: sqlite3.Connection, table: str) -> int:
    """Return the last id ever assigned to rows of a table."""
    highest = f"SELECT MAX(id) FROM {table}"
    sequence = "SELECT seq FROM main.sqlite_sequence WHERE name = ?"
    rows = [*database.execute(highest), *database.execute(sequence, (table,))]
    return max(int(number or 0) for (number,) in rows)


def _copy_rows(other: sqlite3.Connection, database: sqlite3.Connection, table: str, offsets: Mapping[str, int]) -> None:
    columns = [name for _, name, *_ in database.execute(f"PRAGMA main.table_info({table})")]
    values = ", ".join(f"{name} + {offsets[name]}" if name in offsets else name for name in columns)
    owner = next((name for name in ("passage", "document") if name in columns), "")
    counting = f" WHERE {owner} IN (SELECT id FROM {owner}s)" if owner else ""
    marks = ", ".join("?" * len(columns))
    rows = other.execute(f"SELECT {values} FROM {table}{counting}")
    database.executemany(f"INSERT INTO main.{table}({', '.join(columns)}) VALUES ({marks})", rows)


def _copy_sources(other: sqlite3.Connection, database: sqlite3.Connection) -> None:
    """Copy the records of files as last read; a file that both read at different times is read again by the next update."""
    for path, revision in other.execute("SELECT path, revision FROM sources"):
        stored = database.execute("SELECT revision FROM sources WHERE path = ?", (path,)).fetchone()
        if stored is None:
            database.execute("INSERT INTO main.sources VALUES (?, ?)", (path, revision))
        elif stored[0] != revision:
            delete_sources(database, [path])


def _number_words(other: sqlite3.Connection, database: sqlite3.Connection, segments: Sequence[Segment]) -> tuple[Ints, Ints]:
    """Return the word numbers in the other index's segments, rising, and in the draft, adding new words to it."""
    used = {number for segment in segments for unit in UNITS for number in segment.words[unit].postings.words.tolist()}
    rows = [row for row in other.execute("SELECT id, term FROM terms ORDER BY id") if row[0] in used]
    return np.array([number for number, _ in rows], np.int32), Terms(database).number([term for _, term in rows])


def _moved(segment: Segment, offsets: Mapping[str, int], numbers: tuple[Ints, Ints]) -> Segment:
    """Return a segment with new ids and new word numbers."""
    words: dict[Unit, Postings] = {unit: renumbered(segment.words[unit].postings, *numbers) for unit in UNITS}
    passages, sentences = segment.passage_ids + offsets["passages"], segment.sentence_ids + offsets["sentences"]
    return segment_of(passages, sentences, segment.sentence_rows, segment.vectors, words)
