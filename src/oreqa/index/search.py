"""Search: sparse, dense and hybrid, over sentences or passages, for one question or thousands."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import Conditions, Where, as_path, choice, conditions, count, text_list
from oreqa.core import Hit, Mode, Passage, Unit
from oreqa.errors import IndexStateError
from oreqa.index.dense import ExactVectors, FaissVectors, Ids, Vectors
from oreqa.index.fusion import MODES, PASSAGE_WEIGHTS, SENTENCE_WEIGHTS, UNITS, Weights
from oreqa.index.generations import generation_identity, with_newest
from oreqa.index.lexical import bm25_bound, bm25_scores, words
from oreqa.index.scoring import QuestionScores, Scores, best_passages, best_sentences
from oreqa.index.snapshot import Snapshot
from oreqa.index.store import Settings
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph.session import DEVICES

_BLOCK_SCORES = 1 << 24
"""Scores that are held at once: questions are searched in blocks of this many scores over all sentences."""

_CANDIDATES = 200
"""Sentences and passages that each approximate retriever gives to be scored in full."""


class Index:
    """An index opened for reading; nothing is written, so that its folder may be read-only.

    It follows updates by itself: every search sees one complete state, the newest. Threads may share it. ``close`` it, or
    open it in a ``with`` statement.

    >>> with Index.open("kb") as index:
    ...     hits = index.search("How many hearts does an octopus have?", k=3)
    >>> hits[0].sentence.text
    'An octopus has three hearts.'
    """

    def __init__(self, folder: Path, device: str) -> None:
        self.folder = folder
        self._device = device
        self._encoder: Encoder | None = None
        self._snapshot: Snapshot | None = None
        self._closed = False
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: str | Path, device: str = "cpu") -> Index:
        """Open an index; its model runs on the ``device``, cpu or cuda.

        Raises IndexStateError if there is none, none that was ever completed, or a damaged one.
        """
        choice(device, DEVICES, "device")
        index = cls(as_path(folder, "an index's folder"), device)
        index._current()
        return index

    def __enter__(self) -> Index:
        self._current()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        snapshot = self._snapshot
        if snapshot is None:
            return f"Index({str(self.folder)!r}, closed)"
        passages, sentences = len(snapshot.passage_ids), len(snapshot.sentence_ids)
        return f"Index({str(self.folder)!r}, {passages:,} passages, {sentences:,} sentences, {snapshot.settings.model})"

    def close(self) -> None:
        """Let go of the files and the model. What is asked of a closed index raises IndexStateError; closing again does not.

        A search that another thread has begun ends as if nothing had happened.
        """
        with self._lock:
            self._closed = True
            self._snapshot = self._encoder = None

    @property
    def settings(self) -> Settings:
        """What the index was made with."""
        return self._current().settings

    @property
    def content_stamp(self) -> str:
        """A hash of the documents: what the same stamp is searched alike."""
        return self._current().content

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded when first used. Raises IndexStateError if the model is not the one that made it."""
        return self._encoder_of(self._current())

    def _encoder_of(self, snapshot: Snapshot) -> Encoder:
        with self._lock:
            if self._encoder is None or self._encoder.fingerprint != snapshot.fingerprint:
                self._encoder = Encoder.load(snapshot.settings.model, self._device)
            encoder = self._encoder
        if encoder.fingerprint != snapshot.fingerprint:
            raise IndexStateError(
                f"{self.folder}: the model {snapshot.settings.model} is not the one that made this index; "
                "bring that one back, or index into a new folder"
            )
        return encoder

    def counts(self) -> dict[str, int]:
        """Numbers of documents, passages and sentences."""
        snapshot = self._current()
        with snapshot.reading():
            return {
                "documents": snapshot.count_documents(),
                "passages": len(snapshot.passage_ids),
                "sentences": len(snapshot.sentence_ids),
            }

    def passages(self) -> Iterator[Passage]:
        """Every passage, in the documents' order. The sentences of all in turn are the rows of ``score_all``."""
        snapshot = self._current()
        with snapshot.reading():
            for begin in range(0, len(snapshot.passage_ids), 500):
                ids = snapshot.passage_ids[begin : begin + 500].tolist()
                passages = snapshot.passages(ids)
                yield from (passages[number][0] for number in ids)

    @overload
    def search(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self, questions: str, k: int = 10, mode: Mode = "hybrid", unit: Unit = "sentence", where: Where = ()
    ) -> list[Hit]: ...

    @overload
    def search(
        self, questions: Iterable[str], k: int = 10, mode: Mode = "hybrid", unit: Unit = "sentence", where: Where = ()
    ) -> list[list[Hit]]: ...

    def search(
        self,
        questions: str | Iterable[str],
        k: int = 10,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Where = (),
    ) -> list[Hit] | list[list[Hit]]:
        """The ``k`` best sentences, or passages with their best sentence, of a question, best first.

        A list of questions, which is faster than one after another, gives a list of such lists. ``where`` maps fields of
        the documents to the value that they must have, or to a list of values that they may have; ``title`` and ``path``
        are fields of every document, and a path may hold the wildcards * and ?. Pairs ``(field, value)`` do as well. Equal
        scores keep the documents' order.

        Raises InputError for a wrong mode, unit, number or condition, IndexStateError if the index cannot be searched.

        >>> index = Index.open("kb")
        >>> index.search("How long does it live?", k=1, where={"title": "Octopus"})[0].passage.title
        'Octopus'
        """
        texts = text_list(questions, "questions")
        hits = self._search(texts, count(k, "the number of hits"), mode, unit, conditions(where))
        return hits[0] if isinstance(questions, str) else hits

    def _search(self, questions: Sequence[str], k: int, mode: Mode, unit: Unit, where: Conditions) -> list[list[Hit]]:
        choice(mode, MODES, "mode")
        choice(unit, UNITS, "unit")
        weights = (SENTENCE_WEIGHTS if unit == "sentence" else PASSAGE_WEIGHTS).only(mode)
        snapshot = self._current()
        if snapshot.empty or not len(questions):
            return [[] for _ in questions]
        with snapshot.reading():
            allowed = snapshot.allowed(where)
            chosen: list[list[tuple[int, float, dict[str, float]]]] = []
            for scores in self._scores(snapshot, questions, weights, allowed):
                total = scores.total(weights)
                if not np.isfinite(total).all():
                    raise ValueError("a score is not a number")
                if allowed is not None:
                    total[~allowed[scores.rows]] = -np.inf
                places = best_passages(total, scores.owner, k) if unit == "passage" else best_sentences(total, k)
                chosen.append([(int(scores.rows[i]), float(total[i]), scores.parts(i)) for i in places])
            return _hits(snapshot, chosen)

    def score_all(self, questions: Sequence[str], weights: Weights) -> Iterator[Scores]:
        """Exact scores of every sentence of the index, in the documents' order, question by question: ``[sentences]``."""
        snapshot = self._current()
        with snapshot.reading():
            for scores in self._exhaustive(snapshot, questions, weights):
                yield scores.total(weights)

    def nearest(self, vectors: Vectors, k: int, unit: Unit, exact: bool = False) -> Ids:
        """Ids of the ``k`` nearest sentences or passages to each vector, in no order: ``[vectors, k]``, or all if fewer.

        They are what the FAISS index finds, -1 where it finds fewer; ``exact`` compares with every vector instead.
        """
        k = count(k, "the number of neighbours")
        choice(unit, UNITS, "unit")
        snapshot = self._current()
        if snapshot.empty:
            return np.zeros((len(vectors), 0), np.int64)
        stored, ids = snapshot.vectors[unit], np.asarray(snapshot.ids(unit))
        k = min(k, len(ids))
        with snapshot.reading():
            if not exact and isinstance(stored, FaissVectors):
                return stored.search(vectors, k)
            stored_vectors = stored.array if isinstance(stored, ExactVectors) else stored.vectors(ids)
            size = max(1, _BLOCK_SCORES // len(ids))
            near = [np.zeros((0, k), np.intp)]
            for begin in range(0, len(vectors), size):
                scores = vectors[begin : begin + size] @ stored_vectors.T
                near.append(np.argpartition(-scores, k - 1, axis=1)[:, :k])
            return ids[np.concatenate(near)]

    def sentences(self, rows: Sequence[int]) -> list[str]:
        """Texts of the sentences in these rows of ``score_all``."""
        snapshot = self._current()
        with snapshot.reading():
            passages = snapshot.passages({int(snapshot.passage_ids[snapshot.sentence_rows[row]]) for row in rows})
        sentences = {number: sentence for _, of_passage in passages.values() for number, sentence in of_passage.items()}
        return [sentences[int(snapshot.sentence_ids[row])].text for row in rows]

    def _current(self) -> Snapshot:
        """The newest generation, opened once. A snapshot that a search still uses stays open until that is done."""
        with self._lock:
            if self._closed:
                raise IndexStateError(f"{self.folder}: this index was closed; open it again with Index.open")
            self._snapshot = with_newest(self.folder, self._opened)
            return self._snapshot

    def _opened(self, generation: Path) -> Snapshot:
        snapshot = self._snapshot
        if snapshot is None or (snapshot.generation, snapshot.identity) != (generation, generation_identity(generation)):
            snapshot = Snapshot(generation)
        return snapshot

    def _scores(
        self,
        snapshot: Snapshot,
        questions: Sequence[str],
        weights: Weights,
        allowed: NDArray[np.bool_] | None,
    ) -> Iterator[QuestionScores]:
        dense = bool(weights.sentence_cosine or weights.passage_cosine)
        if not dense or isinstance(snapshot.vectors["sentence"], ExactVectors):
            return self._exhaustive(snapshot, questions, weights)
        return self._approximate(snapshot, questions, weights, allowed)

    def _exhaustive(self, snapshot: Snapshot, questions: Sequence[str], weights: Weights) -> Iterator[QuestionScores]:
        """Every sentence scored for every question; cosines are one matrix product a block of questions."""
        rows = np.arange(len(snapshot.sentence_ids))
        size = max(1, _BLOCK_SCORES // max(len(rows), 1))
        vectors = self._vectors(snapshot, questions, weights)
        sparse = self._sparse(snapshot, questions, weights)
        for begin in range(0, len(questions), size):
            cosines: dict[Unit, Scores] = {}
            if vectors is not None:
                for unit in UNITS:
                    stored = snapshot.vectors[unit]
                    every = stored.array if isinstance(stored, ExactVectors) else stored.vectors(snapshot.ids(unit))
                    cosines[unit] = vectors[begin : begin + size] @ every.T
            for place in range(min(size, len(questions) - begin)):
                sentence, passage = (cosines[unit][place] if cosines else None for unit in ("sentence", "passage"))
                yield QuestionScores(rows, snapshot.sentence_rows, sentence, passage, *next(sparse))

    def _approximate(
        self, snapshot: Snapshot, questions: Sequence[str], weights: Weights, allowed: NDArray[np.bool_] | None
    ) -> Iterator[QuestionScores]:
        """Candidates from the approximate indexes and from BM25; all of them scored exactly by every part."""
        vectors = self._vectors(snapshot, questions, weights)
        sentences, passages = snapshot.vectors["sentence"], snapshot.vectors["passage"]
        assert vectors is not None
        chosen: list[Ids | None] = [None, None]
        if allowed is not None:
            chosen = [
                np.ascontiguousarray(snapshot.sentence_ids[allowed]),
                np.ascontiguousarray(snapshot.passage_ids[np.unique(snapshot.sentence_rows[allowed])]),
            ]
        near_sentences = _nearest(sentences, vectors, chosen[0], snapshot.sentence_ids)
        near_passages = _nearest(passages, vectors, chosen[1], snapshot.passage_ids)
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

    def _vectors(self, snapshot: Snapshot, questions: Sequence[str], weights: Weights) -> Vectors | None:
        if not (weights.sentence_cosine or weights.passage_cosine):
            return None
        return self._encoder_of(snapshot).encode(questions)

    def _sparse(
        self, snapshot: Snapshot, questions: Sequence[str], weights: Weights
    ) -> Iterator[tuple[Scores | None, Scores | None, float | None]]:
        """BM25 of all sentences and of all passages, and the passages' bound, question by question."""
        if not (weights.sentence_bm25 or weights.passage_bm25):
            yield from ((None, None, None) for _ in questions)
            return
        sentences, passages = snapshot.bm25["sentence"], snapshot.bm25["passage"]
        numbers: dict[str, int | None] = {}
        for question in questions:
            stems = words(question, snapshot.settings.language)
            numbers |= snapshot.word_numbers({stem for stem in stems if stem not in numbers})
            ids = np.array([number for stem in stems if (number := numbers[stem]) is not None], np.int32)
            bound = bm25_bound(passages, ids, len(stems) - len(ids))
            yield bm25_scores(sentences, ids), bm25_scores(passages, ids), bound


def _hits(snapshot: Snapshot, chosen: Sequence[Sequence[tuple[int, float, dict[str, float]]]]) -> list[list[Hit]]:
    """The hits of each question, given as rows of sentences, scores and their parts."""
    wanted = {int(snapshot.passage_ids[snapshot.sentence_rows[row]]) for ranked in chosen for row, *_ in ranked}
    passages = snapshot.passages(wanted)
    answers = []
    for ranked in chosen:
        hits = []
        for row, score, parts in ranked:
            number, sentence = int(snapshot.passage_ids[snapshot.sentence_rows[row]]), int(snapshot.sentence_ids[row])
            passage, sentences = passages[number]
            hits.append(Hit(score, passage, sentences[sentence], number, sentence, parts))
        answers.append(hits)
    return answers


def _nearest(stored: ExactVectors | FaissVectors, vectors: Vectors, allowed: Ids | None, ids: Ids) -> Ids:
    """The ids of each question's candidates; of a few vectors, which are kept exactly, all are candidates."""
    if isinstance(stored, FaissVectors):
        return stored.search(vectors, _CANDIDATES, allowed)
    chosen = np.asarray(ids if allowed is None else allowed)
    return np.broadcast_to(chosen, (len(vectors), len(chosen)))
