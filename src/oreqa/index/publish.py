"""The search files: vectors, BM25 and row numbers, made whole from SQLite and put in place by one rename.

They are a pure function of the live documents, so that an update that was interrupted leaves no trace in them.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.index.dense import Ids, Vectors, build_faiss
from oreqa.index.lexical import build_bm25
from oreqa.index.store import read_setting, transaction, write_setting

SENTENCE_BM25 = (0.6, 0.2)
"""k1 and b of a sentence among all sentences. A word counts little more the second time, length hardly at all."""

PASSAGE_BM25 = (0.9, 0.4)
"""k1 and b of a passage, with its title and heading, among all passages. See docs/results/fusion.md."""

Texts = tuple[NDArray[np.int32], NDArray[np.int64]]

_BLOCK = 4096

# The documents that will be live: those that wait, and live ones that are neither replaced nor removed.
_NEXT = """
    SELECT id FROM documents WHERE live = 0 OR (
        id NOT IN (SELECT document FROM removals) AND key NOT IN (SELECT key FROM documents WHERE live = 0))
"""


def search_folder(folder: Path, generation: int) -> Path:
    """Where the search files of a generation lie."""
    return folder / f"search-{generation:06d}"


def publish(database: sqlite3.Connection, folder: Path, factory: str, vocabulary: int) -> bool:
    """Build the next generation of search files and switch to it. Returns whether there was anything to do."""
    generation = int(read_setting(database, "generation"))
    waiting = database.execute("SELECT 1 FROM documents WHERE live = 0 UNION SELECT 1 FROM removals").fetchone()
    if waiting is None and (generation == 0 or read_setting(database, "factory") == factory):
        return False
    final = search_folder(folder, generation + 1)
    draft = final.with_suffix(".draft")
    for left in (draft, final):
        shutil.rmtree(left, ignore_errors=True)
    draft.mkdir()
    _build(database, draft, factory, vocabulary)
    draft.rename(final)
    with transaction(database):
        database.execute(
            "DELETE FROM documents WHERE live = 1 AND (id IN (SELECT document FROM removals) "
            "OR key IN (SELECT key FROM documents WHERE live = 0))"
        )
        database.execute("DELETE FROM removals")
        database.execute("UPDATE documents SET live = 1 WHERE live = 0")
        database.execute("DELETE FROM encodings WHERE hash NOT IN (SELECT encoding FROM passages)")
        write_setting(database, "generation", str(generation + 1))
        write_setting(database, "factory", factory)
    # The generation before stays for readers that are opening it this moment.
    for old in folder.glob("search-*"):
        if old not in (final, search_folder(folder, generation)):
            shutil.rmtree(old, ignore_errors=True)
    return True


def _build(database: sqlite3.Connection, folder: Path, factory: str, vocabulary: int) -> None:
    passage_ids = _column(database, f"SELECT id FROM passages WHERE document IN ({_NEXT}) ORDER BY id")
    pairs = database.execute(
        "SELECT sentences.id, passage FROM sentences JOIN passages ON passages.id = passage "
        f"WHERE document IN ({_NEXT}) ORDER BY passage, sentences.id"
    )
    table = np.fromiter((value for pair in pairs for value in pair), np.int64).reshape(-1, 2)
    sentence_ids, sentence_passages = np.ascontiguousarray(table[:, 0]), table[:, 1]
    np.save(folder / "passage_ids.npy", passage_ids)
    np.save(folder / "sentence_ids.npy", sentence_ids)
    np.save(folder / "sentence_rows.npy", np.searchsorted(passage_ids, sentence_passages).astype(np.int32))
    if not len(passage_ids):
        return
    dim = _dim(database)
    build_faiss(factory, dim, len(passage_ids), _vectors(database, dim, passage_ids, True), folder / "passages.faiss")
    build_faiss(factory, dim, len(sentence_ids), _vectors(database, dim, sentence_ids, False), folder / "sentences.faiss")
    passages, sentences = _terms(database)
    build_bm25(*passages, vocabulary, folder / "passages.bm25", *PASSAGE_BM25)
    build_bm25(*sentences, vocabulary, folder / "sentences.bm25", *SENTENCE_BM25)


def _column(database: sqlite3.Connection, query: str) -> Ids:
    return np.fromiter((row[0] for row in database.execute(query)), np.int64)


def _dim(database: sqlite3.Connection) -> int:
    size, sentences = database.execute("SELECT LENGTH(vectors), LENGTH(lengths) / 4 FROM encodings LIMIT 1").fetchone()
    return int(size) // 2 // int(sentences)


def _encodings(database: sqlite3.Connection, columns: str) -> Iterator[tuple[bytes, ...]]:
    yield from database.execute(
        f"SELECT {columns} FROM passages JOIN encodings ON hash = encoding WHERE document IN ({_NEXT}) ORDER BY passages.id"
    )


def _vectors(database: sqlite3.Connection, dim: int, ids: Ids, passages: bool) -> Iterator[tuple[Ids, Vectors]]:
    """Vectors in blocks, with their ids: the passages', which come first in each row, or their sentences'."""
    block: list[NDArray[np.float16]] = []
    held = done = 0
    for (blob,) in _encodings(database, "vectors"):
        rows = np.frombuffer(blob, np.float16).reshape(-1, dim)
        block.append(rows[:1] if passages else rows[1:])
        held += len(block[-1])
        if held >= _BLOCK:
            yield ids[done : done + held], np.concatenate(block).astype(np.float32)
            done, held, block = done + held, 0, []
    if held:
        yield ids[done:], np.concatenate(block).astype(np.float32)


def _terms(database: sqlite3.Connection) -> tuple[Texts, Texts]:
    """The numbered words of all passages and of all sentences, each with the number of words of every text."""
    terms: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
    lengths: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
    for blob, sizes in _encodings(database, "terms, lengths"):
        numbers, counts = np.frombuffer(blob, np.int32), np.frombuffer(sizes, np.int32)
        terms[0].append(numbers[: counts[0]])
        terms[1].append(numbers[counts[0] :])
        lengths[0].append(counts[:1])
        lengths[1].append(counts[1:])
    passages, sentences = (
        (np.concatenate(t), np.concatenate(n).astype(np.int64)) for t, n in zip(terms, lengths, strict=True)
    )
    return passages, sentences
