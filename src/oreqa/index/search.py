"""Search: sparse, dense and hybrid, over sentences or passages, for one question or thousands."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import overload

import numpy as np

from oreqa.arguments import Conditions, Where, as_path, choice, conditions, count, text_list
from oreqa.arrays import Floats, Ids
from oreqa.core import MODES, UNITS, Hit, Mode, Passage, Unit
from oreqa.errors import IndexStateError
from oreqa.index.dense import ExactVectors, FaissVectors
from oreqa.index.fusion import Weights, check_weights, mode_weights, plain_weights
from oreqa.index.generations import generation_identity, with_newest
from oreqa.index.scores import SCORES
from oreqa.index.scores.cosine import BLOCK_SCORES
from oreqa.index.scores.questions import Questions, RetrievalScore
from oreqa.index.scoring import QuestionScores, approximate_scores, best_passages, best_sentences, exhaustive_scores
from oreqa.index.snapshot import Snapshot
from oreqa.index.store import Settings, model_place
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.fitted import Fitted
from oreqa.models.graph.session import DEVICES


class Index:
    """An index opened for reading; nothing is written, so that its folder may be read-only.

    It follows updates by itself: every search sees one complete state, the newest. Threads may share it. ``close`` it, or
    open it in a ``with`` statement.

    Examples:
        >>> with Index.open("kb") as index:
        ...     hits = index.search("How many hearts does an octopus have?", k=3)
        >>> hits[0].sentence.text
        'An octopus has three hearts.'
    """

    def __init__(
        self,
        folder: str | Path,
        device: str = "cpu",
        scores: Mapping[str, RetrievalScore] = SCORES,
        weights: Mapping[Unit, Weights] | None = None,
    ) -> None:
        self.folder = as_path(folder, "an index's folder")
        self._device = device
        self._scores = scores
        self._weights = weights
        self._encoder: Encoder | None = None
        self._snapshot: Snapshot | None = None
        self._closed = False
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        folder: str | Path,
        device: str = "cpu",
        scores: Mapping[str, RetrievalScore] = SCORES,
        weights: Mapping[Unit, Weights] | None = None,
    ) -> Index:
        """Open an index; its model runs on the ``device``, cpu or cuda.

        ``scores`` are the retrieval scores by their names, ``weights`` what each of them counts for a unit; a unit that is
        left out has the weights that were fitted for the encoder, or else the scores' plain weights. Raises IndexStateError
        if there is no index, none that was ever completed, or a damaged one; InputError for weights that are wrong.
        """
        choice(device, DEVICES, "device")
        if weights is not None:
            check_weights(weights, scores)
        index = cls(folder, device, scores, weights)
        index.snapshot()
        return index

    def __enter__(self) -> Index:
        self.snapshot()
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

    def snapshot(self) -> Snapshot:
        """The newest complete state. Passed to ``search``, it makes several searches see the same one.

        It stays open as long as it is used. Raises IndexStateError if the index was closed, or is damaged.
        """
        with self._lock:
            if self._closed:
                raise IndexStateError(f"{self.folder}: this index was closed; open it again with Index.open")
            self._snapshot = with_newest(self.folder, self._opened)
            return self._snapshot

    @property
    def settings(self) -> Settings:
        """What the index was made with."""
        return self.snapshot().settings

    @property
    def content_stamp(self) -> str:
        """A hash of the documents: what the same stamp is searched alike."""
        return self.snapshot().content

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder that made the index."""
        return self.snapshot().fingerprint

    @property
    def fitted(self) -> Fitted:
        """The parameters fitted for the index's encoder; none for an index opened with other weights."""
        return self.fitted_of(self.snapshot())

    def fitted_of(self, snapshot: Snapshot) -> Fitted:
        """As ``fitted``, of one state of the index."""
        return Fitted() if self._weights is not None else snapshot.fitted

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded when first used. Raises IndexStateError if the model is not the one that made it."""
        return self._encoder_of(self.snapshot())

    def _encoder_of(self, snapshot: Snapshot) -> Encoder:
        with self._lock:
            if self._encoder is None or self._encoder.fingerprint != snapshot.fingerprint:
                self._encoder = Encoder(model_place(self.folder, snapshot.settings.model), device=self._device)
            encoder = self._encoder
        if encoder.fingerprint != snapshot.fingerprint:
            raise IndexStateError(
                f"{self.folder}: the model {snapshot.settings.model} is not the one that made this index; "
                "bring that one back, or index into a new folder"
            )
        return encoder

    def counts(self) -> dict[str, int]:
        """Numbers of documents, passages and sentences."""
        snapshot = self.snapshot()
        with snapshot.reading():
            return {
                "documents": snapshot.count_documents(),
                "passages": len(snapshot.passage_ids),
                "sentences": len(snapshot.sentence_ids),
            }

    def passages(self) -> Iterator[Passage]:
        """Every passage, in the documents' order. The sentences of all in turn are the rows of ``score_all``."""
        snapshot = self.snapshot()
        with snapshot.reading():
            for begin in range(0, len(snapshot.passage_ids), 500):
                ids = snapshot.passage_ids[begin : begin + 500].tolist()
                passages = snapshot.passages(ids)
                yield from (passages[number][0] for number in ids)

    def passage_vectors(self) -> Floats:
        """The stored vector of every passage, in the order of ``passages``: ``[passages, dim]``."""
        snapshot = self.snapshot()
        if snapshot.empty:
            return np.zeros((0, 0), np.float32)
        stored = snapshot.vectors["passage"]
        with snapshot.reading():
            return stored.array if isinstance(stored, ExactVectors) else stored.vectors(snapshot.ids("passage"))

    @overload
    def search(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self,
        questions: str,
        k: int = 10,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Where = (),
        *,
        snapshot: Snapshot | None = None,
    ) -> list[Hit]: ...

    @overload
    def search(
        self,
        questions: Iterable[str],
        k: int = 10,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Where = (),
        *,
        snapshot: Snapshot | None = None,
    ) -> list[list[Hit]]: ...

    def search(
        self,
        questions: str | Iterable[str],
        k: int = 10,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Where = (),
        *,
        snapshot: Snapshot | None = None,
    ) -> list[Hit] | list[list[Hit]]:
        """The ``k`` best sentences, or passages with their best sentence, of a question, best first.

        A list of questions, which is faster than one after another, gives a list of such lists. ``where`` maps fields of
        the documents to the value that they must have, or to a list of values that they may have; ``title`` and ``path``
        are fields of every document, and a path may hold the wildcards * and ?. Pairs ``(field, value)`` do as well. Equal
        scores keep the documents' order. A sparse search leaves out what shares no word with the question.
        ``snapshot`` of None is the newest state.

        Raises InputError for a wrong mode, unit, number or condition, IndexStateError if the index cannot be searched.

        Examples:
            >>> index = Index.open("kb")
            >>> index.search("How long does it live?", k=1, where={"title": "Octopus"})[0].passage.title
            'Octopus'
        """
        texts = text_list(questions, "questions")
        hits = self._search(
            snapshot or self.snapshot(), texts, count(k, "the number of hits"), mode, unit, conditions(where)
        )
        return hits[0] if isinstance(questions, str) else hits

    def _search(
        self, snapshot: Snapshot, questions: Sequence[str], k: int, mode: Mode, unit: Unit, where: Conditions
    ) -> list[list[Hit]]:
        choice(mode, MODES, "mode")
        choice(unit, UNITS, "unit")
        if snapshot.empty or not len(questions):
            return [[] for _ in questions]
        weights = self._used_weights(snapshot, unit, mode)
        scores = {name: self._scores[name] for name in weights}
        asked = self._questions(snapshot, questions)
        with snapshot.reading():
            allowed = snapshot.allowed(where)
            if snapshot.is_exact or not any(score.approximate for score in scores.values()):
                scored = exhaustive_scores(asked, scores)
            else:
                scored = approximate_scores(asked, scores, weights, allowed)
            rankings: list[list[tuple[int, float, dict[str, float]]]] = []
            for of_question in scored:
                total = of_question.total(weights)
                if not np.isfinite(total).all():
                    raise ValueError("a score is not a number")
                if allowed is not None:
                    total[~allowed[of_question.rows]] = -np.inf
                if mode == "sparse":
                    total[total == 0] = -np.inf
                places = best_passages(total, of_question.owner, k) if unit == "passage" else best_sentences(total, k)
                rankings.append([(int(of_question.rows[i]), float(total[i]), of_question.at(i)) for i in places])
            return _hits(snapshot, rankings)

    def weights(self, unit: Unit = "sentence", mode: Mode = "hybrid") -> Weights:
        """The weights of the retrieval scores that rank ``unit`` in ``mode``, by their names."""
        return self._used_weights(self.snapshot(), unit, mode)

    def score_all(self, questions: Sequence[str], mode: Mode = "hybrid") -> Iterator[Floats]:
        """Exact scores of every sentence of the index, in the documents' order, question by question: ``[sentences]``."""
        questions = text_list(questions, "questions")
        snapshot = self.snapshot()
        if snapshot.empty:
            return repeat(np.zeros(0, np.float32), len(questions))
        weights = self._used_weights(snapshot, "sentence", mode)
        return (scores.total(weights) for scores in self._scores_of(snapshot, questions, list(weights)))

    def raw_scores(self, questions: Sequence[str]) -> Iterator[QuestionScores]:
        """The same with each retrieval score apart, under its name and without a weight, to fit weights with."""
        return self._scores_of(self.snapshot(), text_list(questions, "questions"), list(self._scores))

    def _scores_of(self, snapshot: Snapshot, questions: Sequence[str], names: Sequence[str]) -> Iterator[QuestionScores]:
        """Nothing is locked between the questions: the snapshot's files are never written again."""
        with snapshot.reading():
            yield from exhaustive_scores(self._questions(snapshot, questions), {name: self._scores[name] for name in names})

    def nearest(self, vectors: Floats, k: int, unit: Unit, exact: bool = False) -> Ids:
        """Ids of the ``k`` nearest sentences or passages to each vector, in no order: ``[vectors, k]``, or all if fewer.

        They are what the FAISS index finds, -1 where it finds fewer; ``exact`` compares with every vector instead.
        """
        k = count(k, "the number of neighbours")
        choice(unit, UNITS, "unit")
        snapshot = self.snapshot()
        if snapshot.empty:
            return np.zeros((len(vectors), 0), np.int64)
        stored, ids = snapshot.vectors[unit], np.asarray(snapshot.ids(unit))
        k = min(k, len(ids))
        with snapshot.reading():
            if not exact and isinstance(stored, FaissVectors):
                return stored.search(vectors, k)
            stored_vectors = stored.array if isinstance(stored, ExactVectors) else stored.vectors(ids)
            size = max(1, BLOCK_SCORES // len(ids))
            near = [np.zeros((0, k), np.intp)]
            for begin in range(0, len(vectors), size):
                scores = vectors[begin : begin + size] @ stored_vectors.T
                near.append(np.argpartition(-scores, k - 1, axis=1)[:, :k])
            return ids[np.concatenate(near)]

    def sentences(self, rows: Sequence[int]) -> list[str]:
        """Texts of the sentences in these rows of ``score_all``."""
        snapshot = self.snapshot()
        with snapshot.reading():
            passages = snapshot.passages({int(snapshot.passage_ids[snapshot.sentence_rows[row]]) for row in rows})
        sentences = {number: sentence for _, of_passage in passages.values() for number, sentence in of_passage.items()}
        return [sentences[int(snapshot.sentence_ids[row])].text for row in rows]

    def _opened(self, generation: Path) -> Snapshot:
        snapshot = self._snapshot
        if snapshot is None or (snapshot.generation, snapshot.identity) != (generation, generation_identity(generation)):
            snapshot = Snapshot(generation)
        return snapshot

    def _used_weights(self, snapshot: Snapshot, unit: Unit, mode: Mode) -> Weights:
        choice(mode, MODES, "mode")
        choice(unit, UNITS, "unit")
        every = {**snapshot.fitted.fusion, **(self._weights or {})}
        return mode_weights(every.get(unit) or plain_weights(self._scores), mode, self._scores)

    def _questions(self, snapshot: Snapshot, texts: Sequence[str]) -> Questions:
        return Questions(texts, snapshot, lambda texts: self._encoder_of(snapshot).encode(texts))


def _hits(snapshot: Snapshot, chosen: Sequence[Sequence[tuple[int, float, dict[str, float]]]]) -> list[list[Hit]]:
    """The hits of each question, given as rows of sentences, totals and scores."""
    wanted = {int(snapshot.passage_ids[snapshot.sentence_rows[row]]) for ranked in chosen for row, *_ in ranked}
    passages = snapshot.passages(wanted)
    answers = []
    for ranked in chosen:
        hits = []
        for row, total, scores in ranked:
            number, sentence = int(snapshot.passage_ids[snapshot.sentence_rows[row]]), int(snapshot.sentence_ids[row])
            passage, sentences = passages[number]
            hits.append(Hit(total, passage, sentences[sentence], number, sentence, scores))
        answers.append(hits)
    return answers
