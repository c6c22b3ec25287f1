"""Build a generation's search files: vectors, BM25 and row numbers.

They depend on nothing but the documents and their encodings, but for which passages stand in which segment.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Ints
from oreqa.core import UNITS, Passage, Unit
from oreqa.defaults import BATCH_PASSAGES
from oreqa.index.bm25 import LivePostings, Postings, live_words, postings_of
from oreqa.index.codes import Codes
from oreqa.index.compounds import COMPOUNDING, vocabulary_parts
from oreqa.index.documents import stored_passages
from oreqa.index.encodings import Encodings
from oreqa.index.generations import DOCUMENTS, link_file, read_manifest
from oreqa.index.segments import (
    Segment,
    first_to_merge,
    link_segment,
    merge_segments,
    open_segments,
    segment_of,
    write_segment,
)
from oreqa.index.store import chunks, open_documents, read_setting, transaction, write_setting
from oreqa.models.names import FITTED

Encode = Callable[[Mapping[bytes, Passage]], None]
"""Encodes passages, whose keys are their hashes, into the memo."""


class MissingEncodingsError(Exception):
    """Some passages' encodings are missing or damaged; ``hashes`` are those of the passages."""

    def __init__(self, hashes: set[bytes]) -> None:
        super().__init__(f"{len(hashes)} encodings are missing")
        self.hashes = hashes


def complete_draft(
    database: sqlite3.Connection, folder: Path, encodings: Encodings, encode: Encode, before: Path | None = None
) -> dict[str, dict[str, Any]]:
    """Set the hash of the contents, then build the search files in ``folder``; return what ``build_search_files`` does.

    What has not changed since ``before``, a sound generation by the same encoder, is taken from there.
    ``encode`` is called with passages whose encodings are missing from the memo, or damaged.
    """
    with transaction(database):
        write_setting(database, "content", content_hash(database))
    try:
        return build_search_files(database, folder, encodings, before)
    except MissingEncodingsError as missing:
        for batch in draft_passages(database, missing.hashes):
            encode(batch)
        return build_search_files(database, folder, encodings, before)


def draft_passages(database: sqlite3.Connection, digests: Iterable[bytes]) -> Iterator[dict[bytes, Passage]]:
    """The passages of a draft with these hashes, in batches and in the order of the documents."""
    query = "SELECT MIN(id), encoding FROM passages GROUP BY encoding ORDER BY MIN(id)"
    wanted = set(digests)
    numbers = {number: digest for number, digest in database.execute(query).fetchall() if digest in wanted}
    for batch in chunks(numbers, BATCH_PASSAGES):
        passages = stored_passages(database, batch)
        yield {numbers[number]: passages[number][0] for number in batch}


def build_search_files(
    database: sqlite3.Connection, folder: Path, encodings: Encodings, before: Path | None
) -> dict[str, dict[str, Any]]:
    """Write the search files of a draft into ``folder``; return the rows of the manifest of those that it shares with
    ``before``. Raises MissingEncodingsError if passages must be encoded first."""
    rows = database.execute("SELECT id, encoding FROM passages ORDER BY id").fetchall()
    old, count = ([], 0) if before is None else _kept_of(before, rows, encodings)
    segments = [segment if 2 * len(segment) >= len(segment.passage_ids) else merge_segments([segment]) for segment in old]
    segments += _new_segment(database, rows[count:], encodings)
    while (begin := first_to_merge(list(map(len, segments)))) < len(segments):
        segments[begin:] = [merge_segments(segments[begin:])]
    shared: list[str] = []
    for segment in segments:
        if before is not None and any(segment is other for other in old):
            shared += link_segment(segment, before, folder)
        else:
            write_segment(segment, folder)
    _write_terms(database, encodings, [segment.words[unit] for segment in segments for unit in UNITS])
    _write_compounds(database, [segment.words["passage"] for segment in segments])
    checksums = {} if before is None else read_manifest(before)
    return {name: checksums[name] for name in shared}


def _kept_of(before: Path, rows: Sequence[tuple[int, bytes]], encodings: Encodings) -> tuple[list[Segment], int]:
    """The segments of a generation in which all passages but those of the draft, given by ids and hashes, count no longer,
    and how many of the draft's they hold; none if the memo numbers its words anew.

    Ids rise, so that these come before those that no segment holds.
    """
    with closing(open_documents(before)) as documents:
        held = dict(documents.execute("SELECT id, encoding FROM passages"))
        numbers = dict(encodings.vocabulary.items())
        if any(numbers.get(term) != number for number, term in documents.execute("SELECT id, term FROM terms")):
            return [], 0
    count = next((place for place, (number, digest) in enumerate(rows) if held.get(number) != digest), len(rows))
    ids, segments = np.array([number for number, _ in rows[:count]], np.int64), []
    for segment in open_segments(before):
        gone = ~np.isin(segment.passage_ids, ids)
        gone[segment.words["passage"].dead] = True  # also where the id was given again
        if not gone.all():
            segments.append(segment.without(np.flatnonzero(gone)))
    return segments, count


def _new_segment(database: sqlite3.Connection, rows: Sequence[tuple[int, bytes]], encodings: Encodings) -> Iterator[Segment]:
    """The segment of passages, given by ids and hashes, that no other holds; nothing if there are none."""
    if not rows:
        return
    query = "SELECT id, passage FROM sentences WHERE passage >= ? ORDER BY passage, id"
    table = np.array(database.execute(query, rows[0][:1]).fetchall(), np.int64).reshape(-1, 2)
    passage_ids = np.array([number for number, _ in rows], np.int64)
    sentence_rows = np.searchsorted(passage_ids, table[:, 1])
    sizes = np.bincount(sentence_rows, minlength=len(rows)).tolist()
    read = list(encodings.read(digest for _, digest in rows))
    missing = {
        digest
        for (_, digest), size, encoding in zip(rows, sizes, read, strict=True)
        if encoding is None or len(encoding.lengths) != 1 + size
    }
    if missing:
        raise MissingEncodingsError(missing)
    every = [encoding for encoding in read if encoding is not None]
    vectors: dict[Unit, Codes] = {
        "passage": np.concatenate([encoding.vectors[:1] for encoding in every]),
        "sentence": np.concatenate([encoding.vectors[1:] for encoding in every]),
    }
    words: dict[Unit, Postings] = {
        "passage": _postings([(encoding.terms[: encoding.lengths[0]], encoding.lengths[:1]) for encoding in every]),
        "sentence": _postings([(encoding.terms[encoding.lengths[0] :], encoding.lengths[1:]) for encoding in every]),
    }
    yield segment_of(passage_ids, table[:, 0], sentence_rows.astype(np.int32), vectors, words)


def _postings(texts: Sequence[tuple[Ints, Ints]]) -> Postings:
    terms, lengths = (np.concatenate(arrays) for arrays in zip(*texts, strict=True))
    return postings_of((terms, lengths.astype(np.int64)))


def link_search_files(generation: Path, draft: Path) -> dict[str, dict[str, Any]]:
    """Link a generation's search files into a draft with the same passages; return their rows of the manifest."""
    checksums = {name: row for name, row in read_manifest(generation).items() if name != DOCUMENTS}
    for name in checksums:
        link_file(generation / name, draft / name)
    return checksums


def link_fitted(generation: Path | None, draft: Path, damaged: Container[str]) -> None:
    """Link what was fitted for an index into a draft whose search files are built anew, unless it is damaged."""
    if generation is not None and FITTED not in damaged and (generation / FITTED).is_file():
        link_file(generation / FITTED, draft / FITTED)


def content_hash(database: sqlite3.Connection) -> str:
    """Return the SHA-256 of all that determines search results: settings, and the documents' keys and contents."""
    digest = hashlib.sha256()
    for name in ("fingerprint", "passage_tokens", "language"):
        digest.update(f"{name} {read_setting(database, name)}\n".encode())
    for key, content in database.execute("SELECT key, hash FROM documents ORDER BY id"):
        digest.update(hashlib.sha256(key.encode()).digest() + content)
    return digest.hexdigest()


def _write_terms(database: sqlite3.Connection, encodings: Encodings, parts: Sequence[LivePostings]) -> None:
    """Write the words that the texts use, with the numbers that they have in the memo and in the search files."""
    terms = [term for term, _ in encodings.vocabulary.items()]
    used = {number: terms[number] for part in parts for number in live_words(part)[0].tolist()}
    held = dict(database.execute("SELECT id, term FROM terms"))
    with transaction(database):
        stale = [(number,) for number, term in held.items() if used.get(number) != term]
        database.executemany("DELETE FROM terms WHERE id = ?", stale)
        new = [(number, term) for number, term in used.items() if held.get(number) != term]
        database.executemany("INSERT INTO terms VALUES (?, ?)", new)


def _write_compounds(database: sqlite3.Connection, passages: Sequence[LivePostings]) -> None:
    """Write which words are made of which, where the language has compounds that are split."""
    if (language := read_setting(database, "language")) in COMPOUNDING:
        passages_with: Counter[int] = Counter()
        for part in passages:
            words, counts = live_words(part)
            passages_with.update(dict(zip(words.tolist(), counts.tolist(), strict=True)))
        terms = database.execute("SELECT id, term FROM terms").fetchall()
        numbers = {term: number for number, term in terms if passages_with[number]}
        parts = vocabulary_parts({term: passages_with[number] for term, number in numbers.items()}, language)
        rows = [(numbers[word], numbers[part]) for word, pair in parts.items() for part in pair]
        with transaction(database):
            database.execute("DELETE FROM compounds")
            database.executemany("INSERT INTO compounds VALUES (?, ?)", rows)
