"""Search: sparse, dense and hybrid, over sentences or passages, for one question or thousands."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

from oreqa.arguments import Where, as_index_folder, choice, conditions, count, question_list
from oreqa.arrays import Floats
from oreqa.core import MODES, UNITS, Hit, Mode, Passage, Unit
from oreqa.errors import IndexStateError
from oreqa.index.fitted import IndexFitted
from oreqa.index.scores import SCORES
from oreqa.index.scores.questions import Questions, RetrievalScore
from oreqa.index.scoring import (
    QuestionScores,
    ScoreWeights,
    best_hits,
    check_weights,
    exhaustive_scores,
    mode_weights,
    plain_weights,
)
from oreqa.index.snapshot import Snapshot, newest_snapshot
from oreqa.index.store import Settings, model_place
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.fitted import Fitted
from oreqa.models.graph.session import DEVICES
from oreqa.processes import OfOneProcess


class Index(OfOneProcess):
    """An index opened for reading; nothing is written, so that its folder may be read-only.

    It follows updates by itself: a search sees one complete state, the newest. Threads may share it, processes may not.
    Close it in the end.

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
        *,
        scores: Mapping[str, RetrievalScore] = SCORES,
        weights: Mapping[Unit, ScoreWeights] | None = None,
        like: Index | None = None,
    ) -> None:
        """Open an index; its model runs on the ``device``, cpu or cuda.

        ``scores`` are the retrieval scores by their names, ``weights`` what each counts for a unit, fitted ones by default.
        The model of ``like``, another index, is used if it is the same one.
        Raises IndexStateError if there is no completed index, or if it is damaged; InputError for wrong weights.
        """
        choice(device, DEVICES, "device")
        if weights is not None:
            check_weights(weights, scores)
        self.folder = as_index_folder(folder)
        self._device, self._scores, self._weights = device, scores, weights
        self._encoder: Encoder | None = like._encoder if like is not None else None
        self._snapshot: Snapshot | None = None
        self._closed, self._lock = False, threading.Lock()
        self.snapshot()

    @classmethod
    def open(cls, folder: str | Path, device: str = "cpu") -> Index:
        """As ``Index(folder, device)``."""
        return cls(folder, device)

    def __enter__(self) -> Index:
        self.snapshot()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        snapshot = self._snapshot
        if snapshot is None:
            return f"Index({str(self.folder)!r}, closed)"
        passages, sentences = (snapshot.engine.counts[unit] for unit in ("passage", "sentence"))
        return f"Index({str(self.folder)!r}, {passages:,} passages, {sentences:,} sentences, {snapshot.settings.model})"

    def close(self) -> None:
        """Let go of the files and the model. What is asked of a closed index raises IndexStateError; closing again does not.

        A search that another thread has begun ends as if nothing had happened.
        """
        with self._lock:
            self._closed, self._snapshot, self._encoder = True, None, None

    def snapshot(self) -> Snapshot:
        """The newest complete state. Passed to ``search``, it makes several searches see the same one.

        It stays open as long as it is used. Raises IndexStateError if the index was closed, or is damaged.
        """
        self.check_process()
        with self._lock:
            if self._closed:
                raise IndexStateError(f"{self.folder}: this index was closed; open it again with Index.open")
            self._snapshot = newest_snapshot(self.folder, self._snapshot)
            return self._snapshot

    @property
    def settings(self) -> Settings:
        """The settings that the index was made with."""
        return self.snapshot().settings

    @property
    def content_fingerprint(self) -> str:
        """A hash of the documents and settings: indexes with equal ones return equal results."""
        return self.snapshot().content

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder that made the index."""
        return self.snapshot().fingerprint

    @property
    def fitted(self) -> Fitted:
        """The parameters that count for the index's encoder; none for an index opened with other weights."""
        return self.fitted_of(self.snapshot())[0]

    def fitted_of(self, snapshot: Snapshot) -> tuple[Fitted, IndexFitted]:
        """As ``fitted``, of one state of the index, and all that was fitted on the index itself."""
        return (snapshot.fitted, snapshot.index_fitted) if self._weights is None else (Fitted(), IndexFitted())

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded when first used. Raises IndexStateError if the model is not the one that made it."""
        return self._encoder_of(self.snapshot())

    def _encoder_of(self, snapshot: Snapshot) -> Encoder:
        with self._lock:
            if self._encoder is None or self._encoder.fingerprint != snapshot.fingerprint:
                dim, place = snapshot.settings.truncate_dim, model_place(self.folder, snapshot.settings.model)
                self._encoder = Encoder(place, device=self._device, truncate_dim=dim)
            encoder = self._encoder
        if encoder.fingerprint != snapshot.fingerprint:
            raise IndexStateError(
                f"{self.folder}: the model {snapshot.settings.model} is not the one that made this index; "
                "bring that one back, or index into a new folder"
            )
        return encoder

    def __len__(self) -> int:
        """Number of documents."""
        return self.counts()["documents"]

    def __bool__(self) -> bool:
        """An index without documents is an index, too."""
        return True

    def documents(self) -> list[str]:
        """The key of every document, in the documents' order."""
        snapshot = self.snapshot()
        with snapshot.reading():
            return snapshot.document_keys()

    def counts(self) -> dict[str, int]:
        """Numbers of documents, passages and sentences."""
        snapshot = self.snapshot()
        with snapshot.reading():
            counts = snapshot.engine.counts
            return {
                "documents": snapshot.count_documents(),
                "passages": counts["passage"],
                "sentences": counts["sentence"],
            }

    def passages(self) -> Iterator[Passage]:
        """Every passage, in the documents' order. The sentences of all in turn are the rows of ``score_all``."""
        snapshot = self.snapshot()
        with snapshot.reading():
            last = 0
            while ids := snapshot.ids_after(last, 500):
                passages = snapshot.passages(ids)
                yield from (passages[number][0] for number in ids)
                last = ids[-1]

    def passage_vectors(self) -> Floats:
        """The stored vector of every passage, in the order of ``passages``: ``[passages, dim]``."""
        snapshot = self.snapshot()
        with snapshot.reading():
            return snapshot.engine.every().all_vectors("passage")

    @overload
    def search(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self,
        questions: str,
        k: int = 10,
        *,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Where = (),
        snapshot: Snapshot | None = None,
    ) -> list[Hit]: ...

    @overload
    def search(
        self,
        questions: Iterable[str],
        k: int = 10,
        *,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Where = (),
        snapshot: Snapshot | None = None,
    ) -> list[list[Hit]]: ...

    def search(
        self,
        questions: str | Iterable[str],
        k: int = 10,
        *,
        mode: Mode = "hybrid",
        unit: Unit = "sentence",
        where: Where = (),
        snapshot: Snapshot | None = None,
    ) -> list[Hit] | list[list[Hit]]:
        """The ``k`` best sentences, or passages with their best sentence, of a question, best first.

        A list of questions, which is faster than one after another, gives a list of such lists. ``where`` maps fields of
        the documents to the value that they must have, or to a list of values that they may have; ``title`` and ``path``
        are fields of every document, and a path may hold the wildcards * and ?. Pairs ``(field, value)`` do as well. Equal
        scores keep the documents' order. A sparse search leaves out what shares no word with the question. Without a
        ``snapshot`` it is the newest state.

        Raises InputError for an empty question, a wrong mode, unit, number or condition, IndexStateError for damage.

        Examples:
            >>> index = Index.open("kb")
            >>> index.search("How long does it live?", k=1, where={"title": "Octopus"})[0].passage.title
            'Octopus'
        """
        texts, k = question_list(questions), count(k, "the number of hits")
        allowed, snapshot = conditions(where), snapshot or self.snapshot()
        weights = self._weights_of(snapshot, unit, mode)
        hits: list[list[Hit]] = [[] for _ in texts]
        if texts and not snapshot.empty:
            scores = {name: self._scores[name] for name in weights}
            hits = best_hits(self._questions(snapshot, texts), scores, weights, k, mode, unit, allowed)
        return hits[0] if isinstance(questions, str) else hits

    def weights(self, unit: Unit = "sentence", mode: Mode = "hybrid") -> ScoreWeights:
        """The weights of the retrieval scores that rank ``unit`` in ``mode``, by their names."""
        return self._weights_of(self.snapshot(), unit, mode)

    def score_all(self, questions: Sequence[str], mode: Mode = "hybrid") -> Iterator[Floats]:
        """Exact scores of every sentence of the index, in the documents' order, question by question: ``[sentences]``."""
        questions, snapshot = question_list(questions), self.snapshot()
        weights = self._weights_of(snapshot, "sentence", mode)
        return (scores.total(weights) for scores in self._scores_of(snapshot, questions, list(weights)))

    def raw_scores(self, questions: Sequence[str]) -> Iterator[QuestionScores]:
        """The same with each retrieval score apart, under its name and without a weight, to fit weights with."""
        return self._scores_of(self.snapshot(), question_list(questions), list(self._scores))

    def _scores_of(self, snapshot: Snapshot, questions: Sequence[str], names: Sequence[str]) -> Iterator[QuestionScores]:
        """Nothing is locked between the questions: the snapshot's files are never written again."""
        with snapshot.reading():
            yield from exhaustive_scores(self._questions(snapshot, questions), {name: self._scores[name] for name in names})

    def sentences(self, rows: Sequence[int]) -> list[str]:
        """Texts of the sentences in these rows of ``score_all``."""
        snapshot = self.snapshot()
        with snapshot.reading():
            every = snapshot.engine.every()
            passages = snapshot.passages({int(every.passage_ids[every.sentence_rows[row]]) for row in rows})
        sentences = {number: sentence for _, of_passage in passages.values() for number, sentence in of_passage.items()}
        return [sentences[int(every.sentence_ids[row])].text for row in rows]

    def _weights_of(self, snapshot: Snapshot, unit: Unit, mode: Mode) -> ScoreWeights:
        choice(mode, MODES, "mode")
        choice(unit, UNITS, "unit")
        every = {**snapshot.fitted.fusion, **(self._weights or {})}
        with snapshot.reading():
            return mode_weights(every.get(unit) or plain_weights(self._scores, snapshot), mode, self._scores)

    def _questions(self, snapshot: Snapshot, texts: Sequence[str]) -> Questions:
        return Questions(texts, snapshot, lambda texts: self._encoder_of(snapshot).encode(texts))
