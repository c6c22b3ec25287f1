"""Another index into a draft: its documents under new ids, its words under new numbers, its vectors shared."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Ints
from oreqa.core import UNITS, Unit
from oreqa.index.bm25 import Postings, renumbered
from oreqa.index.generations import read_manifest
from oreqa.index.segments import Segment, merge_segments, segment_of, write_segment
from oreqa.index.store import attached, transaction
from oreqa.progress import Advance

MOVED = {
    "documents": {"id": "document"},
    "passages": {"id": "passage", "document": "document"},
    "pages": {"document": "document"},
    "sentences": {"id": "sentence", "passage": "passage"},
    "layouts": {"document": "document"},
}
"""The tables whose rows are copied, with their columns that hold an id, and what it is the id of."""

_LAST = {
    "document": "SELECT MAX(id) FROM {}.documents",
    "passage": "SELECT seq FROM {}.sqlite_sequence WHERE name = 'passages'",  # none is given twice
    "sentence": "SELECT MAX(id) FROM {}.sentences",
}
"""How the last id of each kind is asked for."""


def join_index(
    database: sqlite3.Connection, generation: Path, segments: Sequence[Segment], draft: Path, advance: Advance
) -> tuple[list[Segment], dict[str, dict[str, Any]]]:
    """Add what a generation holds to a draft that holds none of its documents, behind what is there.

    Returns its segments in the draft, and the rows of the manifest of the files that these share with the generation.
    """
    with attached(database, generation, "other"):
        behind = {kind: _one(database, query.format("main")) for kind, query in _LAST.items()}
        with transaction(database):
            _copy_rows(database, behind)
            last = behind["passage"] + _one(database, _LAST["passage"].format("other"))
            database.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'passages'", (last,))
            _copy_sources(database)
            numbers = _number_words(database)
    manifest, checksums, written = read_manifest(generation), {}, []
    for segment in segments:
        is_whole = not len(segment.words["passage"].dead)
        moved = _moved(segment if is_whole else merge_segments([segment]), behind, numbers)
        shared = write_segment(moved, draft, generation / segment.name if is_whole else None)
        checksums.update({name: manifest[theirs] for name, theirs in shared.items()})
        written.append(moved)
        advance(len(segment))
    return written, checksums


def _one(database: sqlite3.Connection, query: str) -> int:
    """The number that a query gives; 0 if it gives none."""
    row = database.execute(query).fetchone()
    return int(row[0] or 0) if row else 0


def _copy_rows(database: sqlite3.Connection, behind: Mapping[str, int]) -> None:
    for table, ids in MOVED.items():
        columns = [name for _, name, *_ in database.execute(f"PRAGMA main.table_info({table})")]
        values = [f"{name} + {behind[ids[name]]}" if name in ids else name for name in columns]
        database.execute(f"INSERT INTO main.{table}({', '.join(columns)}) SELECT {', '.join(values)} FROM other.{table}")


def _copy_sources(database: sqlite3.Connection) -> None:
    """Note files as they were last read; one that the two have read at different times is read again by the next update."""
    differing = "SELECT path FROM main.sources AS a JOIN other.sources AS b USING (path) WHERE a.revision <> b.revision"
    paths = database.execute(differing).fetchall()
    database.execute("INSERT OR IGNORE INTO main.sources SELECT * FROM other.sources")
    database.executemany("DELETE FROM main.sources WHERE path = ?", paths)


def _number_words(database: sqlite3.Connection) -> tuple[Ints, Ints]:
    """The numbers of the other's words there, rising, and in the draft, where new ones are added."""
    database.execute("INSERT OR IGNORE INTO main.terms(term) SELECT term FROM other.terms ORDER BY id")
    query = "SELECT b.id, a.id FROM other.terms AS b JOIN main.terms AS a USING (term) ORDER BY b.id"
    table = np.array(database.execute(query).fetchall(), np.int32).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _moved(segment: Segment, behind: Mapping[str, int], numbers: tuple[Ints, Ints]) -> Segment:
    """A segment under new ids, with new numbers of its words."""
    words: dict[Unit, Postings] = {unit: renumbered(segment.words[unit].postings, *numbers) for unit in UNITS}
    passages, sentences = segment.passage_ids + behind["passage"], segment.sentence_ids + behind["sentence"]
    return segment_of(passages, sentences, segment.sentence_rows, segment.vectors, words)
