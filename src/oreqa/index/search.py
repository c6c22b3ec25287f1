"""Search: sparse, dense and hybrid, over sentences or passages, for one question or thousands."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oreqa.core import Hit, Passage, Sentence
from oreqa.errors import IndexStateError, InputError
from oreqa.index import store
from oreqa.index.dense import Dense, Ids, Vectors
from oreqa.index.fusion import MODES, PASSAGE_WEIGHTS, SENTENCE_WEIGHTS, UNITS, Mode, Unit, Weights
from oreqa.index.lexical import bm25_bound, bm25_scores, load_bm25, words
from oreqa.index.publish import search_folder
from oreqa.index.scoring import QuestionScores, Scores, best_passages, best_sentences
from oreqa.runtime.encoder import Encoder

if TYPE_CHECKING:
    from bm25s import BM25

_BLOCK_SCORES = 1 << 24
"""Scores that are held at once: questions are searched in blocks of this many scores over all sentences."""

_CANDIDATES = 200
"""Sentences and passages that each approximate retriever gives to be scored in full."""


class Snapshot:
    """One generation of search files, opened: row ``i`` of every array is sentence (or passage) ``ids[i]``."""

    def __init__(self, folder: Path) -> None:
        self.passage_ids: Ids = np.load(folder / "passage_ids.npy", mmap_mode="r")
        self.sentence_ids: Ids = np.load(folder / "sentence_ids.npy", mmap_mode="r")
        self.sentence_rows = np.load(folder / "sentence_rows.npy")
        self.empty = len(self.passage_ids) == 0
        self._folder = folder
        self._dense: dict[Unit, Dense] = {}
        self._bm25: dict[Unit, BM25] = {}

    def dense(self, unit: Unit) -> Dense:
        if unit not in self._dense:
            self._dense[unit] = Dense(self._folder / f"{unit}s.faiss")
        return self._dense[unit]

    def bm25(self, unit: Unit) -> BM25:
        if unit not in self._bm25:
            self._bm25[unit] = load_bm25(self._folder / f"{unit}s.bm25")
        return self._bm25[unit]


class Index:
    """An index opened for reading. It follows updates by itself: every search sees the last complete state."""

    def __init__(self, folder: Path, database: sqlite3.Connection, device: str) -> None:
        self.folder = folder
        self.settings = store.read_settings(database)
        self._database = database
        self._device = device
        self._encoder: Encoder | None = None
        self._generation = 0
        self._snapshot: Snapshot | None = None
        self._lock = threading.RLock()

    @classmethod
    def open(cls, folder: str | Path, device: str = "cpu") -> Index:
        """Open an index. Raises IndexStateError if there is none, or none that was ever completed."""
        folder = Path(folder)
        index = cls(folder, store.connect(folder), device)
        with index._read():
            pass
        return index

    def close(self) -> None:
        self._database.close()

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded when first used. Raises IndexStateError if the model is not the one that made it."""
        if self._encoder is None:
            self._encoder = Encoder.load(self.settings.model, self._device)
            if self._encoder.fingerprint != store.read_setting(self._database, "fingerprint"):
                raise IndexStateError(
                    f"{self.folder}: the model {self.settings.model} is not the one that made this index; "
                    "bring that one back, or index into a new folder"
                )
        return self._encoder

    def counts(self) -> dict[str, int]:
        """Numbers of documents, passages and sentences."""
        with self._read() as snapshot:
            (documents,) = self._database.execute("SELECT COUNT(*) FROM documents WHERE live = 1").fetchone()
            return {
                "documents": documents,
                "passages": len(snapshot.passage_ids),
                "sentences": len(snapshot.sentence_ids),
            }

    def search(
        self,
        questions: Sequence[str],
        k: int = 10,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Sequence[tuple[str, str]] = (),
    ) -> list[list[Hit]]:
        """The ``k`` best sentences, or passages with their best sentence, of every question, best first.

        ``where`` holds conditions ``(field, value)`` on the documents. Equal scores keep the documents' order. Raises
        InputError for a wrong mode, unit or number, IndexStateError if the index cannot be searched.
        """
        check_request(questions, k, mode, unit)
        weights = (SENTENCE_WEIGHTS if unit == "sentence" else PASSAGE_WEIGHTS).only(mode)
        with self._read() as snapshot:
            if snapshot.empty or not len(questions):
                return [[] for _ in questions]
            allowed = self._allowed(snapshot, where)
            chosen: list[list[tuple[int, float, dict[str, float]]]] = []
            for scores in self._scores(snapshot, questions, weights, allowed):
                total = scores.total(weights)
                if allowed is not None:
                    total[~allowed[scores.rows]] = -np.inf
                places = best_passages(total, scores.owner, k) if unit == "passage" else best_sentences(total, k)
                chosen.append([(int(scores.rows[i]), float(total[i]), scores.parts(i)) for i in places])
            return self._hits(snapshot, chosen)

    def score_all(self, questions: Sequence[str], weights: Weights) -> Iterator[Scores]:
        """Exact scores of every sentence of the index, in the documents' order, question by question: ``[sentences]``."""
        with self._read() as snapshot:
            for scores in self._exhaustive(snapshot, questions, weights):
                yield scores.total(weights)

    def recall(self, questions: Sequence[str], k: int = 10) -> dict[str, float]:
        """Share of the exact ``k`` nearest sentences and passages that the FAISS index finds, as fractions."""
        check_request(questions, k, "dense", "sentence")
        with self._read() as snapshot:
            if snapshot.empty or not questions:
                return {}
            vectors = self.encoder.encode(questions)
            found: dict[str, float] = {}
            for unit in UNITS:
                dense, ids = snapshot.dense(unit), np.asarray(_ids(snapshot, unit))
                size = min(k, len(ids))
                near = dense.search(vectors, size)
                exact = np.argpartition(-(vectors @ dense.vectors(ids).T), size - 1, axis=1)[:, :size]
                same = [len(np.intersect1d(a, ids[b])) for a, b in zip(near, exact, strict=True)]
                found[unit] = float(np.mean(same)) / size
            return found

    def sample_sentences(self, count: int) -> list[str]:
        """Texts of ``count`` sentences, evenly spread over the index."""
        with self._read() as snapshot:
            rows: NDArray[np.intp] | list[int] = (
                np.unique(np.linspace(0, len(snapshot.sentence_ids) - 1, count).astype(int)) if not snapshot.empty else []
            )
            found = self._passages({int(snapshot.passage_ids[snapshot.sentence_rows[row]]) for row in rows})
            sentences = {number: cut for _, cuts in found.values() for number, cut in cuts.items()}
            return [sentences[int(snapshot.sentence_ids[row])].text for row in rows]

    @contextmanager
    def _read(self) -> Iterator[Snapshot]:
        """One unchanging state: SQLite's rows and the search files made from them."""
        with self._lock:
            if self._snapshot is not None and self._database.in_transaction:
                yield self._snapshot  # a search inside the loop over another's scores
                return
            with store.transaction(self._database, "DEFERRED"):
                yield self._current()

    def _current(self) -> Snapshot:
        """The search files of the generation that SQLite names, opened once."""
        generation = int(store.read_setting(self._database, "generation"))
        if generation == 0:
            raise IndexStateError(
                f"{self.folder}: this index was never completed; finish it with: oreqa index PATH --index {self.folder}"
            )
        if self._snapshot is None or generation != self._generation:
            folder = search_folder(self.folder, generation)
            try:
                self._snapshot, self._generation = Snapshot(folder), generation
            except FileNotFoundError as error:
                raise IndexStateError(
                    f"{error.filename}: this file of the index is missing; make the index again"
                ) from error
        return self._snapshot

    def _allowed(self, snapshot: Snapshot, where: Sequence[tuple[str, str]]) -> NDArray[np.bool_] | None:
        """Which sentences stand in documents that fulfil every condition; None where there is none."""
        if not where:
            return None
        condition, values = store.field_filter(where)
        found = self._database.execute(
            f"SELECT passages.id FROM passages JOIN documents ON documents.id = document WHERE {condition}", values
        )
        ids = np.fromiter((row[0] for row in found), np.int64)
        allowed: NDArray[np.bool_] = np.isin(snapshot.passage_ids, ids)[snapshot.sentence_rows]
        return allowed

    def _scores(
        self,
        snapshot: Snapshot,
        questions: Sequence[str],
        weights: Weights,
        allowed: NDArray[np.bool_] | None,
    ) -> Iterator[QuestionScores]:
        dense = bool(weights.sentence_cosine or weights.passage_cosine)
        if not dense or snapshot.dense("sentence").exact is not None:
            return self._exhaustive(snapshot, questions, weights)
        return self._approximate(snapshot, questions, weights, allowed)

    def _exhaustive(self, snapshot: Snapshot, questions: Sequence[str], weights: Weights) -> Iterator[QuestionScores]:
        """Every sentence scored for every question; cosines are one matrix product a block of questions."""
        rows = np.arange(len(snapshot.sentence_ids))
        size = max(1, _BLOCK_SCORES // max(len(rows), 1))
        vectors = self._vectors(questions, weights)
        sparse = self._sparse(snapshot, questions, weights)
        for begin in range(0, len(questions), size):
            cosines: dict[Unit, Scores] = {}
            if vectors is not None:
                for unit in UNITS:
                    dense = snapshot.dense(unit)
                    every = dense.exact if dense.exact is not None else dense.vectors(_ids(snapshot, unit))
                    cosines[unit] = vectors[begin : begin + size] @ every.T
            for place in range(min(size, len(questions) - begin)):
                sentence, passage = (cosines[unit][place] if cosines else None for unit in ("sentence", "passage"))
                yield QuestionScores(rows, snapshot.sentence_rows, sentence, passage, *next(sparse))

    def _approximate(
        self, snapshot: Snapshot, questions: Sequence[str], weights: Weights, allowed: NDArray[np.bool_] | None
    ) -> Iterator[QuestionScores]:
        """Candidates from the approximate indexes and from BM25; all of them scored exactly by every part."""
        vectors = self._vectors(questions, weights)
        assert vectors is not None
        sentences, passages = snapshot.dense("sentence"), snapshot.dense("passage")
        chosen: list[Ids | None] = [None, None]
        if allowed is not None:
            chosen = [
                np.ascontiguousarray(snapshot.sentence_ids[allowed]),
                np.ascontiguousarray(snapshot.passage_ids[np.unique(snapshot.sentence_rows[allowed])]),
            ]
        near_sentences = sentences.search(vectors, _CANDIDATES, chosen[0])
        near_passages = passages.search(vectors, _CANDIDATES, chosen[1])
        starts = np.searchsorted(snapshot.sentence_rows, np.arange(len(snapshot.passage_ids) + 1))
        sparse = self._sparse(snapshot, questions, weights)
        for vector, near, around, (own, context, bound) in zip(vectors, near_sentences, near_passages, sparse, strict=True):
            found = [np.searchsorted(snapshot.sentence_ids, near[near >= 0])]
            rows_around = np.searchsorted(snapshot.passage_ids, around[around >= 0])
            found += [np.arange(starts[row], starts[row + 1]) for row in rows_around]
            if own is not None and context is not None:
                lexical = QuestionScores(np.arange(0), snapshot.sentence_rows, None, None, own, context).total(weights)
                if allowed is not None:
                    lexical[~allowed] = -np.inf
                found.append(best_sentences(lexical, _CANDIDATES))
            rows = np.unique(np.concatenate(found))
            owners, owner = np.unique(snapshot.sentence_rows[rows], return_inverse=True)
            yield QuestionScores(
                rows,
                owner,
                sentences.vectors(snapshot.sentence_ids[rows]) @ vector,
                passages.vectors(snapshot.passage_ids[owners]) @ vector,
                None if own is None else own[rows],
                None if context is None else context[owners],
                bound,
            )

    def _vectors(self, questions: Sequence[str], weights: Weights) -> Vectors | None:
        if not (weights.sentence_cosine or weights.passage_cosine):
            return None
        return self.encoder.encode(questions)

    def _sparse(
        self, snapshot: Snapshot, questions: Sequence[str], weights: Weights
    ) -> Iterator[tuple[Scores | None, Scores | None, float | None]]:
        """BM25 of all sentences and of all passages, and the passages' bound, question by question."""
        if not (weights.sentence_bm25 or weights.passage_bm25):
            yield from ((None, None, None) for _ in questions)
            return
        known: dict[str, int | None] = {}
        for question in questions:
            found = words(question, self.settings.language)
            for word in found:
                if word not in known:
                    row = self._database.execute("SELECT id FROM terms WHERE term = ?", (word,)).fetchone()
                    known[word] = row[0] if row else None
            numbers = [known[word] for word in found]
            ids = np.array([number for number in numbers if number is not None], np.int32)
            sentences, passages = snapshot.bm25("sentence"), snapshot.bm25("passage")
            bound = bm25_bound(passages, ids, len(found) - len(ids))
            yield bm25_scores(sentences, ids), bm25_scores(passages, ids), bound

    def _hits(self, snapshot: Snapshot, chosen: Sequence[Sequence[tuple[int, float, dict[str, float]]]]) -> list[list[Hit]]:
        wanted = {int(snapshot.passage_ids[snapshot.sentence_rows[row]]) for found in chosen for row, *_ in found}
        passages = self._passages(wanted)
        answers = []
        for found in chosen:
            hits = []
            for row, score, parts in found:
                number = int(snapshot.passage_ids[snapshot.sentence_rows[row]])
                passage, sentences = passages[number]
                sentence = int(snapshot.sentence_ids[row])
                hits.append(Hit(score, passage, sentences[sentence], number, sentence, parts))
            answers.append(hits)
        return answers

    def _passages(self, ids: Iterable[int]) -> dict[int, tuple[Passage, dict[int, Sentence]]]:
        found = {}
        for batch in store.chunks(sorted(ids), 500):
            marks = ",".join("?" * len(batch))
            sentences: dict[int, dict[int, tuple[int, int]]] = {}
            for number, passage, start, end in self._database.execute(
                f"SELECT id, passage, start, end FROM sentences WHERE passage IN ({marks}) ORDER BY id", batch
            ):
                sentences.setdefault(passage, {})[number] = (start, end)
            for number, key, title, fields, heading, text, start in self._database.execute(
                "SELECT passages.id, key, title, fields, heading, text, start FROM passages "
                f"JOIN documents ON documents.id = document WHERE passages.id IN ({marks})",
                batch,
            ):
                cut = {i: Sentence(text[a - start : b - start], a, b) for i, (a, b) in sentences[number].items()}
                passage = Passage(
                    key, title, heading, text, start, start + len(text), tuple(cut.values()), store.fields_of(fields)
                )
                found[number] = (passage, cut)
        return found


def check_request(questions: Sequence[str], k: int, mode: str, unit: str) -> None:
    """Raise InputError for a request that makes no sense."""
    if isinstance(questions, str) or not all(isinstance(question, str) for question in questions):
        raise InputError("questions are a list of strings")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InputError(f"the number of hits is {k!r}; it must be a whole number from 1")
    for value, known, name in ((mode, MODES, "mode"), (unit, UNITS, "unit")):
        if value not in known:
            raise InputError(f"there is no {name} {value!r}: choose {', '.join(known)}")


def _ids(snapshot: Snapshot, unit: str) -> Ids:
    return snapshot.sentence_ids if unit == "sentence" else snapshot.passage_ids
