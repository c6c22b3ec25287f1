"""The search files of a generation: vectors, BM25 and row numbers, a pure function of its documents and their encodings."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from oreqa.index.dense import Ids, Vectors, build_faiss, fitted_factory
from oreqa.index.encodings import Encodings
from oreqa.index.generations import DOCUMENTS, link_file, read_manifest
from oreqa.index.lexical import build_bm25
from oreqa.index.store import read_setting, transaction

SENTENCE_BM25 = (0.6, 0.2)
"""k1 and b of a sentence among all sentences. A word counts little more the second time, length hardly at all."""

PASSAGE_BM25 = (0.9, 0.4)
"""k1 and b of a passage, with its title and heading, among all passages. See docs/results/fusion.md."""

_BLOCK = 8192


class MissingEncodingsError(Exception):
    """Some passages' encodings are missing or damaged: ``hashes`` names them."""

    def __init__(self, hashes: set[bytes]) -> None:
        super().__init__(f"{len(hashes)} encodings are missing")
        self.hashes = hashes


def build_search_files(database: sqlite3.Connection, folder: Path, factory: str, encodings: Encodings) -> None:
    """Write the search files of a draft's documents. Raises MissingEncodingsError for passages that are to be encoded."""
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
    _write_terms(database, encodings, (words[0][0], words[1][0]))
    for unit, ids in (("passages", passage_ids), ("sentences", sentence_ids)):
        _index_vectors(folder, unit, factory, ids)
    vocabulary = len(encodings.vocabulary)
    build_bm25(*words[0], vocabulary, folder / "passages.bm25", *PASSAGE_BM25)
    build_bm25(*words[1], vocabulary, folder / "sentences.bm25", *SENTENCE_BM25)


def link_search_files(generation: Path, draft: Path) -> dict[str, dict[str, Any]]:
    """Link a generation's search files into a draft with the same passages; return their rows of the manifest."""
    checksums = {name: row for name, row in read_manifest(generation).items() if name != DOCUMENTS}
    for name in checksums:
        link_file(generation / name, draft / name)
    return checksums


def content_hash(database: sqlite3.Connection) -> str:
    """A hash of what decides the results of searches: settings, and the documents' keys and contents in order (SHA-256)."""
    digest = hashlib.sha256()
    for name in ("fingerprint", "passage_tokens", "language", "factory"):
        digest.update(f"{name} {read_setting(database, name)}\n".encode())
    for key, content in database.execute("SELECT key, hash FROM documents ORDER BY id"):
        digest.update(hashlib.sha256(key.encode()).digest() + content)
    return digest.hexdigest()


def _write_terms(database: sqlite3.Connection, encodings: Encodings, texts: Iterable[NDArray[np.int32]]) -> None:
    """The words of the texts, under the numbers that they have in the memo and in the BM25 matrices."""
    used = np.zeros(len(encodings.vocabulary), bool)
    for numbers in texts:
        used[numbers] = True
    with transaction(database):
        database.execute("DELETE FROM terms")
        rows = ((number, term) for term, number in encodings.vocabulary.items() if used[number])
        database.executemany("INSERT INTO terms VALUES (?, ?)", rows)


Texts = tuple[NDArray[np.int32], NDArray[np.int64]]


def _write_vectors(folder: Path, hashes: list[bytes], sizes: NDArray[np.intp], encodings: Encodings) -> tuple[Texts, Texts]:
    """Write the vectors of passages and sentences; returns the words of both, with how many each text has."""
    terms: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
    lengths: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
    missing: set[bytes] = set()
    begun = False
    with (folder / "passages.npy").open("wb") as passages, (folder / "sentences.npy").open("wb") as sentences:
        for digest, size, encoding in zip(hashes, sizes.tolist(), encodings.read(hashes), strict=True):
            if encoding is None or len(encoding.lengths) != 1 + size:
                missing.add(digest)
                continue
            vectors = encoding.vectors.reshape(1 + size, -1).astype(np.float32)
            if not begun:
                _write_header(passages, len(hashes), vectors.shape[1])
                _write_header(sentences, int(sizes.sum()), vectors.shape[1])
                begun = True
            passages.write(vectors[0].tobytes())
            sentences.write(vectors[1:].tobytes())
            terms[0].append(encoding.terms[: encoding.lengths[0]])
            terms[1].append(encoding.terms[encoding.lengths[0] :])
            lengths[0].append(encoding.lengths[:1])
            lengths[1].append(encoding.lengths[1:])
    if missing:
        raise MissingEncodingsError(missing)
    of_passages, of_sentences = (
        (np.concatenate(t), np.concatenate(n).astype(np.int64)) for t, n in zip(terms, lengths, strict=True)
    )
    return of_passages, of_sentences


def _write_header(stream: IO[bytes], count: int, dim: int) -> None:
    """An .npy file's header, after which numbers begin at a multiple of 64 bytes, as fast matrix products need them."""
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (count, dim)})


def _index_vectors(folder: Path, unit: str, factory: str, ids: Ids) -> None:
    """Vectors that are searched exactly stay as they are; an approximate index takes their place."""
    path = folder / f"{unit}.npy"
    fitted = fitted_factory(factory, len(ids))
    if fitted != "Flat":
        vectors = np.load(path, mmap_mode="r")
        build_faiss(fitted, vectors.shape[1], _blocks(ids, vectors), folder / f"{unit}.faiss")
        path.unlink()


def _blocks(ids: Ids, vectors: Vectors) -> Iterator[tuple[Ids, Vectors]]:
    for begin in range(0, len(ids), _BLOCK):
        yield ids[begin : begin + _BLOCK], np.ascontiguousarray(vectors[begin : begin + _BLOCK])
