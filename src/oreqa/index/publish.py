"""Builds a generation's search files: vectors, BM25 and row numbers.

Apart from the assignment of passages to segments, they depend only on the documents and their encodings.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Ints
from oreqa.core import UNITS, Passage, Unit
from oreqa.corpus.splitter import passage_head
from oreqa.defaults import BATCH_PASSAGES
from oreqa.index.codes import Codes
from oreqa.index.documents import stored_passages
from oreqa.index.encodings import Encodings, Published
from oreqa.index.engines.milvus import MilvusEngine
from oreqa.index.engines.milvus_client import server_uri
from oreqa.index.engines.milvus_writing import write_rows
from oreqa.index.generations import CHANGES, DOCUMENTS, link_file, read_manifest, require_intact
from oreqa.index.lexical import words
from oreqa.index.postings import Postings, live_words, postings_of
from oreqa.index.schema import is_shared
from oreqa.index.segments import (
    BITS,
    LARGEST,
    RATIO,
    Segment,
    link_segment,
    merge_segments,
    segment_of,
    segments_to_merge,
    write_segment,
)
from oreqa.index.store import chunks, read_setting, read_settings, transaction, write_setting
from oreqa.index.terms import Terms, drop_unused_terms, write_compounds
from oreqa.models.names import FITTED

Encode = Callable[[Mapping[bytes, Passage]], None]
"""Encodes passages, keyed by hash."""

HashedId = tuple[int, bytes]
"""The id of a passage and the hash of its encoder input."""


def complete_draft(
    database: sqlite3.Connection, folder: Path, encodings: Encodings, encode: Encode, before: Published | None = None
) -> dict[str, dict[str, Any]]:
    """Build the search files in ``folder``; return the result of ``build_search_files``.

    What is unchanged since ``before``, a generation by the same encoder, is reused. ``encode`` is called with passages
    whose encodings are missing.
    """
    with transaction(database):
        write_setting(database, "encoded_by", encodings.encoder)
    return build_search_files(database, folder, encodings, encode, before)


def draft_passages(database: sqlite3.Connection, rows: Iterable[HashedId]) -> Iterator[dict[bytes, Passage]]:
    """Yield distinct passages of a draft, keyed by hash, in batches."""
    for batch in chunks({digest: number for number, digest in rows}.items(), BATCH_PASSAGES):
        passages = stored_passages(database, [number for _, number in batch])
        yield {digest: passages[number][0] for digest, number in batch}


def build_search_files(
    database: sqlite3.Connection, folder: Path, encodings: Encodings, encode: Encode, before: Published | None
) -> dict[str, dict[str, Any]]:
    """Write a draft's search files into ``folder``; return the manifest rows of those shared with ``before``."""
    if engine := read_settings(database).engine:
        _write_to_milvus(database, folder, server_uri(engine), encodings, encode, before.milvus if before else None)
        return {}
    old = list(_kept_of(before, database)) if before else []
    names = [] if before is None else [name for name in read_manifest(before.generation) if not name.endswith(BITS)]

    def merged(parts: Sequence[Segment]) -> Segment:
        """Merge segments; published ones are verified against their checksums and must be intact."""
        published = tuple(f"{part.name}/" for part in parts if any(part is other for other in old))
        if before is not None and published:
            require_intact(before.generation, [name for name in names if name.startswith(published)])
        return merge_segments(parts)

    segments = [segment if 2 * len(segment) >= len(segment.passage_ids) else merged([segment]) for segment in old]
    runs = list(_runs_between(old, database))
    for batch in draft_passages(database, (row for run in runs for row in run if row[1] not in encodings)):
        encode(batch)
    segments += [_new_segment(database, run, encodings) for run in runs]
    segments.sort(key=lambda segment: int(segment.passage_ids[0]))
    most = RATIO * LARGEST
    while places := segments_to_merge(list(map(len, segments)), most):
        segments[places.start : places.stop] = [merged(segments[places.start : places.stop])]
        most -= len(segments[places.start])
    shared: list[str] = []
    for segment in segments:
        if before is not None and any(segment is other for other in old):
            shared += link_segment(segment, before.generation, folder)
        else:
            write_segment(segment, folder)
    note_contents(database, sum(map(len, segments)))
    drop_unused_terms(database, (live_words(segment.words[unit])[0] for segment in segments for unit in UNITS))
    write_compounds(database, [segment.words["passage"] for segment in segments])
    checksums = read_manifest(before.generation) if before else {}
    return {name: checksums[name] for name in shared}


def _write_to_milvus(
    database: sqlite3.Connection,
    folder: Path,
    uri: str,
    encodings: Encodings,
    encode: Encode,
    before: MilvusEngine | None,
) -> None:
    """Write passages missing in the state ``before`` to Milvus, and the description of the new state into ``folder``."""
    last = before.state.collection.last if before else 0
    rows = database.execute("SELECT id, encoding FROM passages WHERE id > ? ORDER BY id", (last,)).fetchall()
    for batch in draft_passages(database, (row for row in rows if row[1] not in encodings)):
        encode(batch)
    removed = np.array(database.execute("SELECT id FROM removed").fetchall(), np.int64).reshape(-1)
    segments = (_new_segment(database, batch, encodings) for batch in chunks(rows, _WRITTEN))
    sampled = [number for number, _ in rows[:: max(1, -(-len(rows) // _SAMPLED))]]

    def mean() -> float:
        return float(_words_of(database, sampled)["passage"].lengths.mean())

    last = rows[-1][0] if rows else last
    state = write_rows(folder, uri, before, removed, last, segments, mean)
    note_contents(database, state.collection.counts["passage"])
    drop_unused_terms(database, [state.texts_with[:, 0].astype(np.int32)])


_WRITTEN, _SAMPLED = 2_000, 10_000
"""Passages written to Milvus at a time, and passages from which the mean length of a new index's is estimated."""


def _kept_of(before: Published, database: sqlite3.Connection) -> Iterator[Segment]:
    """Yield a generation's segments without the passages that were removed from the draft."""
    removed = np.array(database.execute("SELECT id FROM removed").fetchall(), np.int64).reshape(-1)
    for segment in before.segments:
        is_dead = np.isin(segment.passage_ids, removed)
        is_dead[segment.words["passage"].dead] = True
        if not is_dead.all():
            yield segment.without(np.flatnonzero(is_dead))


def _runs_between(segments: Sequence[Segment], database: sqlite3.Connection) -> Iterator[list[HashedId]]:
    """Yield the passages that no segment has: after all segments the new ones, between two those of a damaged one."""
    ends = [0, *(int(segment.passage_ids[-1]) for segment in segments)]
    begins = [*(int(segment.passage_ids[0]) for segment in segments), np.iinfo(np.int64).max]
    query = "SELECT id, encoding FROM passages WHERE id > ? AND id < ? ORDER BY id"
    for end, begin in zip(ends, begins, strict=True):
        if run := database.execute(query, (end, int(begin))).fetchall():
            yield run


def _new_segment(database: sqlite3.Connection, rows: Sequence[HashedId], encodings: Encodings) -> Segment:
    """Build the segment of encoded passages that no other segment has."""
    query = "SELECT id, passage FROM sentences WHERE passage BETWEEN ? AND ? ORDER BY passage, id"
    table = np.array(database.execute(query, (rows[0][0], rows[-1][0])).fetchall(), np.int64).reshape(-1, 2)
    passage_ids = np.array([number for number, _ in rows], np.int64)
    table = table[np.isin(table[:, 1], passage_ids)]  # shared documents have sentences of removed passages
    sentence_rows = np.searchsorted(passage_ids, table[:, 1])
    starts = np.searchsorted(sentence_rows, np.arange(len(rows) + 1))
    vectors: dict[Unit, Codes] = {}
    for row, codes in enumerate(encodings.read([digest for _, digest in rows])):
        if not vectors:
            vectors = {"passage": np.empty(len(rows), codes.dtype), "sentence": np.empty(len(table), codes.dtype)}
        vectors["passage"][row] = codes[0]
        vectors["sentence"][starts[row] : starts[row + 1]] = codes[1:]
    words = _words_of(database, passage_ids.tolist())
    return segment_of(passage_ids, table[:, 0], sentence_rows.astype(np.int32), vectors, words)


def _words_of(database: sqlite3.Connection, ids: Sequence[int]) -> dict[Unit, Postings]:
    """Return the words of passages and of their sentences.

    Those of a passage include its head's, those of a sentence do not.
    """
    language, terms = read_setting(database, "language"), Terms(database)
    texts: dict[Unit, list[Ints]] = {unit: [] for unit in UNITS}
    for batch in chunks(ids, BATCH_PASSAGES):
        passages = stored_passages(database, batch)
        with transaction(database):
            for passage, sentences in (passages[number] for number in batch):
                text = f"{passage_head(passage.title, passage.heading)}\n{passage.text}"
                texts["passage"].append(terms.number(words(text, language)))
                texts["sentence"] += [terms.number(words(sentence.text, language)) for sentence in sentences.values()]
    lengths = {unit: np.array(list(map(len, every)), np.int64) for unit, every in texts.items()}
    return {
        unit: postings_of((np.concatenate([np.zeros(0, np.int32), *every]), lengths[unit])) for unit, every in texts.items()
    }


def link_search_files(generation: Path, draft: Path) -> dict[str, dict[str, Any]]:
    """Link a generation's search files into a draft with the same passages; return their manifest rows."""
    checksums = {name: row for name, row in read_manifest(generation).items() if name not in (DOCUMENTS, CHANGES)}
    for name in checksums:
        link_file(generation / name, draft / name)
    return checksums


def link_fitted(generation: Path | None, draft: Path, damaged: Container[str]) -> None:
    """Link what was fitted for an index into a draft with rebuilt search files, unless it is damaged."""
    if generation is not None and FITTED not in damaged and (generation / FITTED).is_file():
        link_file(generation / FITTED, draft / FITTED)


def note_documents(database: sqlite3.Connection) -> None:
    """Record in a draft its number of documents and the sum of their hashes, before shared documents are rewritten: from the
    shared ones' records and what changed."""
    with transaction(database):
        write_setting(database, "documents", str(_documents(database)))
        write_setting(database, "sum", f"{_sum_of_documents(database) % _MODULUS:x}")


def note_contents(database: sqlite3.Connection, passages: int) -> None:
    """Record in a draft its number of ``passages``, and the hash of its contents, from what ``note_documents`` recorded."""
    with transaction(database):
        write_setting(database, "passages", str(passages))
        write_setting(database, "content", _content_hash(database))


def _documents(database: sqlite3.Connection) -> int:
    """Return the number of documents, derived from that of the shared ones: an update counts only changes."""
    (added,) = database.execute("SELECT COUNT(*) FROM main.documents").fetchone()
    if not is_shared(database):
        return int(added)
    row = database.execute("SELECT value FROM whole.settings WHERE key = 'documents'").fetchone()
    shared = int((row or database.execute("SELECT COUNT(*) FROM whole.documents").fetchone())[0])
    (replaced,) = database.execute("SELECT COUNT(*) FROM main.replaced_rows").fetchone()
    return shared - int(replaced) + int(added)


def _content_hash(database: sqlite3.Connection) -> str:
    """Return a hash of everything that determines search results: settings, and the documents' ids, keys and contents."""
    digest = hashlib.sha256()
    for name in ("fingerprint", "passage_tokens", "language"):
        digest.update(f"{name} {read_setting(database, name)}\n".encode())
    digest.update(read_setting(database, "sum").encode())
    return digest.hexdigest()


def _sum_of_documents(database: sqlite3.Connection) -> int:
    """Return the sum of the documents' hashes, derived from that of the shared ones: an update hashes only changes."""
    if not is_shared(database):
        return _sum(database, "main.documents")
    row = database.execute("SELECT value FROM whole.settings WHERE key = 'sum'").fetchone()
    total = int(row[0], 16) if row else _sum(database, "whole.documents")
    total -= _sum(database, "whole.documents WHERE id IN (SELECT id FROM main.replaced_rows)")
    return total + _sum(database, "main.documents")


def _sum(database: sqlite3.Connection, table: str) -> int:
    """Return the sum of the documents' hashes, as numbers."""
    total = 0
    for number, key, content in database.execute(f"SELECT id, key, hash FROM {table}"):
        hashed = hashlib.sha256(key.encode()).digest() + content
        total += int.from_bytes(hashlib.shake_256(f"{number} ".encode() + hashed).digest(_BYTES))
    return total


_BYTES = 256
_MODULUS = 1 << (8 * _BYTES)
"""Sums of this many bits cannot be made to collide on purpose: the best known attack, Wagner's generalized birthday attack,
takes about 2 ** (2 * sqrt(2048)) = 2 ** 90 steps."""
