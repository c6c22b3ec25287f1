"""Build a generation's search files: vectors, BM25 and row numbers.

They depend on nothing but the documents and their encodings.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from oreqa.arrays import Flags, Ids, Ints, Rows, check_whole
from oreqa.core import UNITS, Passage, Unit
from oreqa.defaults import BATCH_PASSAGES
from oreqa.index.bm25 import LivePostings, Postings, joined, mapped_postings, postings_of, write_postings
from oreqa.index.codes import Codes, mapped_codes
from oreqa.index.compounds import COMPOUNDING, vocabulary_parts
from oreqa.index.documents import stored_passages
from oreqa.index.encodings import Encodings
from oreqa.index.generations import DOCUMENTS, link_file, read_manifest
from oreqa.index.lexical import Texts
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
) -> None:
    """Set the hash of the contents, then build the search files in ``folder``.

    What has not changed since ``before``, a sound generation by the same encoder, is taken from there.
    ``encode`` is called with passages whose encodings are missing from the memo, or damaged.
    """
    with transaction(database):
        write_setting(database, "content", content_hash(database))
    try:
        build_search_files(database, folder, encodings, before)
    except MissingEncodingsError as missing:
        for batch in draft_passages(database, missing.hashes):
            encode(batch)
        build_search_files(database, folder, encodings, before)


def draft_passages(database: sqlite3.Connection, digests: Iterable[bytes]) -> Iterator[dict[bytes, Passage]]:
    """The passages of a draft with these hashes, in batches and in the order of the documents."""
    query = "SELECT MIN(id), encoding FROM passages GROUP BY encoding ORDER BY MIN(id)"
    wanted = set(digests)
    numbers = {number: digest for number, digest in database.execute(query).fetchall() if digest in wanted}
    for batch in chunks(numbers, BATCH_PASSAGES):
        passages = stored_passages(database, batch)
        yield {numbers[number]: passages[number][0] for number in batch}


@dataclass(frozen=True, slots=True)
class _Kept:
    """The first passages of a draft, as many as ``passages``, which the generation before it holds as they are."""

    passages: int = 0
    vectors: Mapping[Unit, Codes] = field(default_factory=dict)
    words: Mapping[Unit, LivePostings] = field(default_factory=dict)
    sentence_ids: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    sentence_rows: Rows = field(default_factory=lambda: np.zeros(0, np.intp))


def build_search_files(database: sqlite3.Connection, folder: Path, encodings: Encodings, before: Path | None) -> None:
    """Write the search files of a draft into ``folder``. Raises MissingEncodingsError if passages must be encoded first."""
    rows = database.execute("SELECT id, encoding FROM passages ORDER BY id").fetchall()
    passage_ids = np.array([row[0] for row in rows], np.int64)
    kept = _Kept() if before is None else _kept_of(before, rows, encodings)
    last = rows[kept.passages - 1][0] if kept.passages else -1
    pairs = database.execute("SELECT id, passage FROM sentences WHERE passage > ? ORDER BY passage, id", (last,))
    table = np.array(pairs.fetchall(), np.int64).reshape(-1, 2)
    sentence_ids = np.concatenate([kept.sentence_ids, table[:, 0]])
    sentence_rows = np.concatenate([kept.sentence_rows, np.searchsorted(passage_ids, table[:, 1])])
    np.save(folder / "passage_ids.npy", passage_ids)
    np.save(folder / "sentence_ids.npy", sentence_ids)
    np.save(folder / "sentence_rows.npy", sentence_rows.astype(np.int32))
    if not len(rows):
        _write_terms(database, encodings, ())
        return
    sizes = np.bincount(sentence_rows, minlength=len(rows))
    texts = _write_vectors(folder, [row[1] for row in rows], sizes, encodings, kept)
    postings = dict(zip(UNITS, map(postings_of, texts), strict=True))
    for unit in UNITS:
        if kept.passages:
            postings[unit] = joined(kept.words[unit], postings[unit])
        write_postings(postings[unit], folder / f"{unit}s.words.npy")
    _write_terms(database, encodings, (of_unit.words for of_unit in postings.values()))
    _write_compounds(database, postings["passage"])
    for path in folder.glob("*.npy"):
        check_whole(path)


def _kept_of(before: Path, rows: Sequence[tuple[int, bytes]], encodings: Encodings) -> _Kept:
    """The passages, given by ids and hashes, that a generation holds as they are; none if the memo numbers its words anew.

    Ids rise, so that they come before those that it does not hold.
    """
    with closing(open_documents(before)) as documents:
        held = dict(documents.execute("SELECT id, encoding FROM passages"))
        numbers = dict(encodings.vocabulary.items())
        if any(numbers.get(term) != number for number, term in documents.execute("SELECT id, term FROM terms")):
            return _Kept()
    count = next((place for place, (number, digest) in enumerate(rows) if held.get(number) != digest), len(rows))
    if not count:
        return _Kept()
    ids, owners = np.load(before / "passage_ids.npy"), np.load(before / "sentence_rows.npy")
    stays = np.isin(ids, [number for number, _ in rows[:count]])
    of_units: dict[Unit, Flags] = {"passage": stays, "sentence": stays[owners]}
    vectors: dict[Unit, Codes] = {}
    words: dict[Unit, LivePostings] = {}
    for unit, flags in of_units.items():
        vectors[unit] = mapped_codes(before / f"{unit}s.npy", len(flags))[flags]
        words[unit] = LivePostings.of(mapped_postings(before / f"{unit}s.words.npy", len(flags)), np.flatnonzero(~flags))
    of_sentences = of_units["sentence"]
    sentence_rows = (np.cumsum(stays) - 1)[owners[of_sentences]]
    return _Kept(count, vectors, words, np.load(before / "sentence_ids.npy")[of_sentences], sentence_rows)


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


def _write_terms(database: sqlite3.Connection, encodings: Encodings, texts: Iterable[Ints]) -> None:
    """Write the words that the texts use, with the numbers that they have in the memo and in the search files."""
    terms = [term for term, _ in encodings.vocabulary.items()]
    used = {number: terms[number] for numbers in texts for number in numbers.tolist()}
    held = dict(database.execute("SELECT id, term FROM terms"))
    with transaction(database):
        stale = [(number,) for number, term in held.items() if used.get(number) != term]
        database.executemany("DELETE FROM terms WHERE id = ?", stale)
        new = [(number, term) for number, term in used.items() if held.get(number) != term]
        database.executemany("INSERT INTO terms VALUES (?, ?)", new)


def _write_compounds(database: sqlite3.Connection, passages: Postings) -> None:
    """Write which words are made of which, where the language has compounds that are split."""
    if (language := read_setting(database, "language")) in COMPOUNDING:
        passages_with = dict(zip(passages.words.tolist(), np.diff(passages.starts).tolist(), strict=True))
        numbers = {
            term: number for number, term in database.execute("SELECT id, term FROM terms") if number in passages_with
        }
        parts = vocabulary_parts({term: passages_with[number] for term, number in numbers.items()}, language)
        rows = [(numbers[word], numbers[part]) for word, pair in parts.items() for part in pair]
        with transaction(database):
            database.execute("DELETE FROM compounds")
            database.executemany("INSERT INTO compounds VALUES (?, ?)", rows)


def _write_vectors(folder: Path, hashes: list[bytes], sizes: Rows, encodings: Encodings, kept: _Kept) -> tuple[Texts, Texts]:
    """Write the vectors of passages and sentences; return the words of those that are not kept."""
    terms: tuple[list[Ints], list[Ints]] = ([], [])
    lengths: tuple[list[Ints], list[Ints]] = ([], [])
    missing: set[bytes] = set()
    new, headers_written = hashes[kept.passages :], False
    with (folder / "passages.npy").open("wb") as passages, (folder / "sentences.npy").open("wb") as sentences:

        def write(of_passages: Codes, of_sentences: Codes) -> None:
            nonlocal headers_written
            if not headers_written:
                _write_header(passages, len(hashes), of_passages)
                _write_header(sentences, int(sizes.sum()), of_passages)
                headers_written = True
            passages.write(of_passages.tobytes())
            sentences.write(of_sentences.tobytes())

        if kept.passages:
            write(kept.vectors["passage"], kept.vectors["sentence"])
        for digest, size, encoding in zip(new, sizes[kept.passages :].tolist(), encodings.read(new), strict=True):
            if encoding is None or len(encoding.lengths) != 1 + size:
                missing.add(digest)
                continue
            write(encoding.vectors[:1], encoding.vectors[1:])
            terms[0].append(encoding.terms[: encoding.lengths[0]])
            terms[1].append(encoding.terms[encoding.lengths[0] :])
            lengths[0].append(encoding.lengths[:1])
            lengths[1].append(encoding.lengths[1:])
    if missing:
        raise MissingEncodingsError(missing)
    none = [np.zeros(0, np.int32)]
    passage_texts, sentence_texts = (
        (np.concatenate(t or none), np.concatenate(n or none).astype(np.int64)) for t, n in zip(terms, lengths, strict=True)
    )
    return passage_texts, sentence_texts


def _write_header(stream: IO[bytes], count: int, vectors: Codes) -> None:
    """Write the .npy header of ``count`` vectors that are stored as these are."""
    kind = np.lib.format.dtype_to_descr(vectors.dtype)
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": (count,)})
