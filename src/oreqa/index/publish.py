"""Build a generation's search files: vectors, BM25 and row numbers.

They depend on nothing but the documents and their encodings.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from oreqa.arrays import Ints, Rows, check_whole
from oreqa.core import Passage
from oreqa.defaults import BATCH_PASSAGES
from oreqa.index.codes import Codes
from oreqa.index.compounds import COMPOUNDING, vocabulary_parts, with_parts
from oreqa.index.documents import stored_passages
from oreqa.index.encodings import Encodings
from oreqa.index.generations import DOCUMENTS, link_file, read_manifest
from oreqa.index.lexical import Texts, build_bm25
from oreqa.index.store import chunks, read_setting, transaction, write_setting
from oreqa.models.names import FITTED

SENTENCE_BM25 = (0.6, 0.2)
"""k1 and b for sentences: repeating a word adds little, and length hardly matters."""

PASSAGE_BM25 = (0.9, 0.4)
"""k1 and b for passages, with title and heading. Both pairs were tuned: docs/results/fusion.md."""

Encode = Callable[[Mapping[bytes, Passage]], None]
"""Encodes passages, whose keys are their hashes, into the memo."""


class MissingEncodingsError(Exception):
    """Some passages' encodings are missing or damaged; ``hashes`` are those of the passages."""

    def __init__(self, hashes: set[bytes]) -> None:
        super().__init__(f"{len(hashes)} encodings are missing")
        self.hashes = hashes


def complete_draft(database: sqlite3.Connection, folder: Path, encodings: Encodings, encode: Encode) -> None:
    """Set the hash of the contents, then build the search files in ``folder``.

    ``encode`` is called with passages whose encodings are missing from the memo, or damaged.
    """
    with transaction(database):
        write_setting(database, "content", content_hash(database))
    try:
        build_search_files(database, folder, encodings)
    except MissingEncodingsError as missing:
        for batch in draft_passages(database, missing.hashes):
            encode(batch)
        build_search_files(database, folder, encodings)


def draft_passages(database: sqlite3.Connection, digests: Iterable[bytes]) -> Iterator[dict[bytes, Passage]]:
    """The passages of a draft with these hashes, in batches and in the order of the documents."""
    query = "SELECT MIN(id), encoding FROM passages GROUP BY encoding ORDER BY MIN(id)"
    wanted = set(digests)
    numbers = {number: digest for number, digest in database.execute(query).fetchall() if digest in wanted}
    for batch in chunks(numbers, BATCH_PASSAGES):
        passages = stored_passages(database, batch)
        yield {numbers[number]: passages[number][0] for number in batch}


def build_search_files(database: sqlite3.Connection, folder: Path, encodings: Encodings) -> None:
    """Write the search files of a draft into ``folder``. Raises MissingEncodingsError if passages must be encoded first."""
    rows = database.execute("SELECT id, encoding FROM passages ORDER BY id").fetchall()
    passage_ids = np.array([row[0] for row in rows], np.int64)
    pairs = database.execute("SELECT id, passage FROM sentences ORDER BY passage, id")
    table = np.fromiter((value for pair in pairs for value in pair), np.int64).reshape(-1, 2)
    sentence_ids, sentence_rows = np.ascontiguousarray(table[:, 0]), np.searchsorted(passage_ids, table[:, 1])
    np.save(folder / "passage_ids.npy", passage_ids)
    np.save(folder / "sentence_ids.npy", sentence_ids)
    np.save(folder / "sentence_rows.npy", sentence_rows.astype(np.int32))
    if not len(rows):
        _write_terms(database, encodings, ())
        return
    sizes = np.bincount(sentence_rows, minlength=len(rows))
    words = _write_vectors(folder, [row[1] for row in rows], sizes, encodings)
    if (language := read_setting(database, "language")) in COMPOUNDING:
        parts = vocabulary_parts(encodings.vocabulary, words[0], language)
        words = with_parts(words[0], parts), with_parts(words[1], parts)
    _write_terms(database, encodings, (words[0][0], words[1][0]))
    vocabulary = len(encodings.vocabulary)
    build_bm25(*words[0], vocabulary, folder / "passages.bm25", *PASSAGE_BM25)
    build_bm25(*words[1], vocabulary, folder / "sentences.bm25", *SENTENCE_BM25)
    for path in folder.rglob("*.npy"):
        check_whole(path)


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
    """Write the words that the texts use, with the ids that they have in the memo and in the BM25 matrices."""
    used = np.zeros(len(encodings.vocabulary), bool)
    for numbers in texts:
        used[numbers] = True
    with transaction(database):
        database.execute("DELETE FROM terms")
        rows = ((number, term) for term, number in encodings.vocabulary.items() if used[number])
        database.executemany("INSERT INTO terms VALUES (?, ?)", rows)


def _write_vectors(folder: Path, hashes: list[bytes], sizes: Rows, encodings: Encodings) -> tuple[Texts, Texts]:
    """Write the vectors of passages and sentences; return the words of the passages and those of the sentences."""
    terms: tuple[list[Ints], list[Ints]] = ([], [])
    lengths: tuple[list[Ints], list[Ints]] = ([], [])
    missing: set[bytes] = set()
    headers_written = False
    with (folder / "passages.npy").open("wb") as passages, (folder / "sentences.npy").open("wb") as sentences:
        for digest, size, encoding in zip(hashes, sizes.tolist(), encodings.read(hashes), strict=True):
            if encoding is None or len(encoding.lengths) != 1 + size:
                missing.add(digest)
                continue
            vectors = encoding.vectors
            if not headers_written:
                _write_header(passages, len(hashes), vectors)
                _write_header(sentences, int(sizes.sum()), vectors)
                headers_written = True
            passages.write(vectors[0].tobytes())
            sentences.write(vectors[1:].tobytes())
            terms[0].append(encoding.terms[: encoding.lengths[0]])
            terms[1].append(encoding.terms[encoding.lengths[0] :])
            lengths[0].append(encoding.lengths[:1])
            lengths[1].append(encoding.lengths[1:])
    if missing:
        raise MissingEncodingsError(missing)
    passage_texts, sentence_texts = (
        (np.concatenate(t), np.concatenate(n).astype(np.int64)) for t, n in zip(terms, lengths, strict=True)
    )
    return passage_texts, sentence_texts


def _write_header(stream: IO[bytes], count: int, vectors: Codes) -> None:
    """Write the .npy header of ``count`` vectors that are stored as these are."""
    kind = np.lib.format.dtype_to_descr(vectors.dtype)
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": (count,)})
