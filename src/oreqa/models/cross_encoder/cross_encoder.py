"""Scores candidate answers with the question and the candidate in one input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from oreqa.arguments import choice, count, kind_of, text_list
from oreqa.arrays import Floats
from oreqa.datasets.pairs import Candidate
from oreqa.defaults import DEFAULT_CLASSIFIER
from oreqa.errors import InputError
from oreqa.models.cross_encoder.inputs import CrossEncoderFolder, CrossEncoderInputs, read_cross_encoder_folder
from oreqa.models.graph.session import Session
from oreqa.models.model import LoadedModel, questions_with_lists
from oreqa.models.names import CLASSIFIER, RERANKER, find_model
from oreqa.progress import Progress, no_progress, show

_CHUNK = 64
"""Questions scored together: enough to sort candidates by length, few enough to keep their tokens in memory."""


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A ranked document: its number in the list, from 0, its text, and its score."""

    number: int
    text: str
    score: float


class CrossEncoder(LoadedModel[CrossEncoderFolder]):
    """A loaded cross-encoder. Its folder says what its score means and how candidates are presented.

    A ``classifier``'s score is the log-odds that the candidate answers the question (Yang et al. 2021, section 4.1); a
    ``reranker``'s compares spans of one question (RECONSIDER, Iyer et al. 2021, Eq. 1). Threads may share it.

    Examples:
        >>> classifier = CrossEncoder("minilm-classifier")
        >>> scores = classifier.score("How many hearts does it have?", ["An octopus has three hearts.", "Bees dance."])
        >>> bool(scores[0] > scores[1])
        True
        >>> classifier.rank("How many hearts does it have?", ["Bees dance.", "An octopus has three hearts."])[0].number
        1
    """

    family = "cross_encoder"

    def __init__(
        self,
        name: str | Path = DEFAULT_CLASSIFIER,
        *,
        device: str = "cpu",
        precision: str | None = None,
        kind: str | None = None,
    ) -> None:
        """Load a model by name or folder; sentence-transformers' CrossEncoders with one or two outputs load unchanged.

        The default is the classifier that comes with oreqa, its only packaged cross-encoder. ``device`` and
        ``precision`` are as in ``LoadedModel``. Raises ModelError for a folder that is missing, damaged or not of the
        ``kind`` (classifier or reranker), InputError for a device or a precision that is not available.
        """
        if kind is not None:
            choice(kind, (CLASSIFIER, RERANKER), "kind of cross-encoder")
        self._load(read_cross_encoder_folder(find_model(name), kind), device, precision)

    def _begin(self, folder: CrossEncoderFolder, session: Session, fingerprint: str) -> None:
        super()._begin(folder, session, fingerprint)
        self.inputs = CrossEncoderInputs(
            folder.tokenizer, folder.max_tokens, folder.marking, folder.titles, folder.closing, folder.prompt
        )

    def _shown(self) -> dict[str, Any]:
        return {"kind": self.folder.kind, "max_tokens": self.folder.max_tokens}

    @overload
    def score(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self, questions: str, candidates: Iterable[str | Candidate], *, progress: Progress = no_progress
    ) -> Floats: ...

    @overload
    def score(
        self,
        questions: Iterable[str],
        candidates: Iterable[Iterable[str | Candidate]],
        *,
        progress: Progress = no_progress,
    ) -> list[Floats]: ...

    def score(
        self,
        questions: str | Iterable[str],
        candidates: Iterable[str | Candidate] | Iterable[Iterable[str | Candidate]],
        *,
        progress: Progress = no_progress,
    ) -> Floats | list[Floats]:
        """Return the score of each candidate of a question, ``[candidates]``; for a list of questions, a list of arrays.

        One question takes a list of candidates, a list of questions a list of lists. A candidate is a sentence, or a
        ``Candidate`` with the passage around it. ``progress`` reports how many questions are done. Raises InputError for
        anything else.
        """
        texts, lists = questions_with_lists(questions, candidates, "candidates", "sentences", _candidate)
        scores = [np.zeros(len(question_candidates), np.float32) for question_candidates in lists]
        with show(progress, "scoring candidates", len(texts)) as advance:
            for begin in range(0, len(texts), _CHUNK):
                chunk = range(begin, min(begin + _CHUNK, len(texts)))
                owners = [(q, place) for q in chunk for place in range(len(lists[q]))]
                windows = self.inputs.windows([(texts[q], lists[q][place]) for q, place in owners])
                for number, (score,) in self._run(windows):
                    q, place = owners[number]
                    scores[q][place] = score
                advance(len(chunk))
        return scores[0] if isinstance(questions, str) else scores

    def rank(self, query: str, documents: Iterable[str | Candidate], k: int | None = None) -> list[RankedDocument]:
        """Return the ``k`` documents with the highest scores, best first; all by default.

        Raises InputError like ``score``, and for a query that is not a string.
        """
        if not isinstance(query, str):
            raise InputError(f"a query is a string, not {kind_of(query)}")
        (candidates,) = questions_with_lists(query, documents, "documents", "sentences", _candidate)[1]
        scores = self.score(query, candidates)
        best = np.argsort(-scores, kind="stable")[: None if k is None else count(k, "k")]
        return [RankedDocument(int(number), candidates[number].answer, float(scores[number])) for number in best]


def _candidate(candidate: object) -> Candidate:
    if isinstance(candidate, str):
        candidate = Candidate(candidate, candidate)
    if isinstance(candidate, Candidate):
        text_list([candidate.head, candidate.context], "texts of a candidate")
        return candidate
    raise InputError(f"a candidate is a sentence, or a Candidate in its passage, not {kind_of(candidate)}")
