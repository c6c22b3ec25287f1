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
from oreqa.visible import counted


class Index(OfOneProcess):
    """An index opened for reading. Nothing is written, so its folder may be read-only.

    It follows updates: every search sees one complete state, the newest. Threads may share an Index, processes may not.
    Close it when done.

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

        ``scores`` are the retrieval scores by name, ``weights`` their weights for each unit, the fitted ones by default.
        The model of ``like``, another index, is reused if it is the same. Raises IndexStateError if there is no
        completed index or it is damaged; InputError for invalid weights.
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
        """Open an index, like ``Index(folder, device)``."""
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
        counts = (counted(snapshot.engine.counts[unit], unit) for unit in ("passage", "sentence"))
        return f"Index({str(self.folder)!r}, {', '.join(counts)}, {snapshot.settings.model})"

    def close(self) -> None:
        """Release the files and the model. A closed index raises IndexStateError when used; closing it again does not.

        A search already running in another thread completes normally.
        """
        with self._lock:
            self._closed, self._snapshot, self._encoder = True, None, None

    def snapshot(self) -> Snapshot:
        """Return the newest complete state. Pass it to several calls of ``search`` to make them see the same one.

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
        """The settings that the index was built with."""
        return self.snapshot().settings

    @property
    def content_fingerprint(self) -> str:
        """A hash of the documents and settings: indexes with equal hashes return equal results."""
        return self.snapshot().content

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder that built the index."""
        return self.snapshot().fingerprint

    @property
    def fitted(self) -> Fitted:
        """The parameters that apply to the index's encoder; none if the index was opened with other weights."""
        return self.fitted_of(self.snapshot())[0]

    def fitted_of(self, snapshot: Snapshot) -> tuple[Fitted, IndexFitted]:
        """Return ``fitted`` for one state of the index, and all that was fitted on the index itself."""
        return (snapshot.fitted, snapshot.index_fitted) if self._weights is None else (Fitted(), IndexFitted())

    @property
    def encoder(self) -> Encoder:
        """The index's model, loaded on first use. Raises IndexStateError if it is not the model that built the index."""
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
        """Return the number of documents."""
        return self.counts()["documents"]

    def __bool__(self) -> bool:
        """Return True: an index without documents is an index, too."""
        return True

    def documents(self) -> list[str]:
        """Return the key of every document, in index order."""
        snapshot = self.snapshot()
        with snapshot.reading():
            return snapshot.document_keys()

    def counts(self) -> dict[str, int]:
        """Return the numbers of documents, passages and sentences."""
        snapshot = self.snapshot()
        with snapshot.reading():
            counts = snapshot.engine.counts
            return {
                "documents": snapshot.count_documents(),
                "passages": counts["passage"],
                "sentences": counts["sentence"],
            }

    def passages(self) -> Iterator[Passage]:
        """Yield every passage, in the documents' order. Their sentences in turn are the rows of ``score_all``."""
        snapshot = self.snapshot()
        with snapshot.reading():
            last = 0
            while ids := snapshot.ids_after(last, 500):
                passages = snapshot.passages(ids)
                yield from (passages[number][0] for number in ids)
                last = ids[-1]

    def passage_vectors(self) -> Floats:
        """Return the stored vector of every passage, in the order of ``passages``: ``[passages, dim]``."""
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
        """Return the ``k`` best sentences, or passages with their best sentence, of a question, best first.

        A list of questions returns a list of lists, faster than one call per question. ``where`` maps document fields to
        the value that they must have, or to a list of allowed values; ``title`` and ``path`` are fields of every
        document, and a path may contain the wildcards * and ?. Pairs ``(field, value)`` work as well. Ties keep the
        documents' order. A sparse search omits what shares no word with the question. Without a ``snapshot``, the newest
        state is searched.

        Raises InputError for an empty question and an invalid mode, unit, number or condition, IndexStateError for damage.

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
        """Return the weights of the retrieval scores that rank ``unit`` in ``mode``, by name."""
        return self._weights_of(self.snapshot(), unit, mode)

    def score_all(self, questions: Sequence[str], mode: Mode = "hybrid") -> Iterator[Floats]:
        """Yield exact scores of every sentence of the index, in the documents' order, for each question: ``[sentences]``."""
        questions, snapshot = question_list(questions), self.snapshot()
        weights = self._weights_of(snapshot, "sentence", mode)
        return (scores.total(weights) for scores in self._scores_of(snapshot, questions, list(weights)))

    def raw_scores(self, questions: Sequence[str]) -> Iterator[QuestionScores]:
        """Yield the same as separate, unweighted retrieval scores by name, for fitting weights."""
        return self._scores_of(self.snapshot(), question_list(questions), list(self._scores))

    def _scores_of(self, snapshot: Snapshot, questions: Sequence[str], names: Sequence[str]) -> Iterator[QuestionScores]:
        """Yield scores without a lock between questions: the snapshot's files are never rewritten."""
        with snapshot.reading():
            yield from exhaustive_scores(self._questions(snapshot, questions), {name: self._scores[name] for name in names})

    def sentences(self, rows: Sequence[int]) -> list[str]:
        """Return the texts of the sentences in these rows of ``score_all``."""
        snapshot = self.snapshot()
        with snapshot.reading():
            every = snapshot.engine.every()
            passages = snapshot.passages({int(every.passage_ids[every.sentence_rows[row]]) for row in rows})
        sentences = {
            number: sentence for _, passage_sentences in passages.values() for number, sentence in passage_sentences.items()
        }
        return [sentences[int(every.sentence_ids[row])].text for row in rows]

    def _weights_of(self, snapshot: Snapshot, unit: Unit, mode: Mode) -> ScoreWeights:
        choice(mode, MODES, "mode")
        choice(unit, UNITS, "unit")
        every = {**snapshot.fitted.fusion, **(self._weights or {})}
        with snapshot.reading():
            return mode_weights(every.get(unit) or plain_weights(self._scores, snapshot), mode, self._scores)

    def _questions(self, snapshot: Snapshot, texts: Sequence[str]) -> Questions:
        return Questions(texts, snapshot, lambda texts: self._encoder_of(snapshot).encode(texts))
