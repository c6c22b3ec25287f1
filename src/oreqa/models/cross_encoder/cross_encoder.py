"""Scoring candidate answers with the question and the candidate in one input."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import choice, is_list, kind_of, text_list
from oreqa.datasets.pairs import Candidate
from oreqa.errors import InputError
from oreqa.models.cross_encoder.folder import CrossEncoderFolder, read_cross_encoder_folder
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs
from oreqa.models.folders import CLASSIFIER, RERANKER, find_model, shown_name
from oreqa.models.graph.session import Session, check_finite, load_session
from oreqa.models.graph.windows import window_batches
from oreqa.progress import Progress, no_progress, show

CHUNK = 64
"""Questions scored together: enough to sort candidates by length, and few enough to keep their tokens in memory."""

Floats = NDArray[np.float32]


class CrossEncoder:
    """A loaded cross-encoder. Its folder says what its score means and how it is shown a candidate.

    A ``classifier``'s score is the log-odds that the candidate answers the question (Yang et al. 2021, section 4.1); a
    ``reranker``'s compares spans of one question (RECONSIDER, Iyer et al. 2021, Eq. 1). Threads may share it.

    Examples:
        >>> classifier = CrossEncoder.load("minilm-classifier")
        >>> scores = classifier.score("How many hearts does it have?", ["An octopus has three hearts.", "Bees dance."])
        >>> bool(scores[0] > scores[1])
        True
    """

    def __init__(self, session: Session, folder: CrossEncoderFolder) -> None:
        self.folder = folder
        self._session = session
        self._inputs = CrossEncoderInputs(folder.tokenizer, folder.max_tokens, folder.marking, folder.titles, folder.closing)

    def __repr__(self) -> str:
        return (
            f"CrossEncoder({shown_name(self.folder.path)!r}, kind={self.folder.kind!r}, max_tokens={self.folder.max_tokens})"
        )

    @classmethod
    def load(
        cls, name: str | Path, device: str = "cpu", precision: str | None = None, kind: str | None = None
    ) -> CrossEncoder:
        """Load a model by name or folder; sentence-transformers' CrossEncoders of one output, or two, load as they are.

        ``precision`` as in ``Reader.load``. Raises ModelError for a folder that is missing, damaged or not of the ``kind``,
        InputError for a precision that the processor does not offer.
        """
        if kind is not None:
            choice(kind, (CLASSIFIER, RERANKER), "kind of cross-encoder")
        folder = read_cross_encoder_folder(find_model(name), kind)
        return cls(load_session("cross_encoder", folder, device, precision), folder)

    @property
    def fingerprint(self) -> str:
        """A hash of the model's files: the same scores come from the same fingerprint in the same precision."""
        from oreqa.models.graph.cache import cached_fingerprint

        return cached_fingerprint(self.folder.path)

    @overload
    def score(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self, questions: str, candidates: Iterable[str | Candidate], progress: Progress = no_progress
    ) -> Floats: ...

    @overload
    def score(
        self,
        questions: Iterable[str],
        candidates: Iterable[Iterable[str | Candidate]],
        progress: Progress = no_progress,
    ) -> list[Floats]: ...

    def score(
        self,
        questions: str | Iterable[str],
        candidates: Iterable[str | Candidate] | Iterable[Iterable[str | Candidate]],
        progress: Progress = no_progress,
    ) -> Floats | list[Floats]:
        """The score of each candidate of a question, ``[candidates]``; of a list of questions, a list of such arrays.

        One question takes a list of candidates, and a list of questions a list of such lists. A candidate is a sentence by
        itself, or a ``Candidate`` that holds the passage around it. ``progress`` shows how many questions are done.
        Raises InputError for anything else.
        """
        texts = text_list(questions, "questions")
        lists = _candidate_lists([candidates] if isinstance(questions, str) else candidates)
        if len(lists) != len(texts):
            raise InputError(
                f"a list of questions takes a list of candidates for each: {len(texts)} questions, {len(lists)} lists"
            )
        scores = [np.zeros(len(of_question), np.float32) for of_question in lists]
        with show(progress, "scoring candidates", len(texts)) as advance:
            for begin in range(0, len(texts), CHUNK):
                chunk = range(begin, min(begin + CHUNK, len(texts)))
                owners = [(q, place) for q in chunk for place in range(len(lists[q]))]
                windows = self._inputs.windows([(texts[q], lists[q][place]) for q, place in owners])
                for batch, (batch_scores,) in self._session.run(window_batches(windows)):
                    check_finite(batch_scores, self.folder.path)
                    for row, number in enumerate(batch.numbers):
                        q, place = owners[number]
                        scores[q][place] = batch_scores[row]
                advance(len(chunk))
        return scores[0] if isinstance(questions, str) else scores


def _candidate_lists(groups: object) -> list[list[Candidate]]:
    """The candidates of each question. Raises InputError for what is no list of candidates."""
    if not is_list(groups):
        raise InputError(f"candidates are a list, or a list for each question, not {kind_of(groups)}")
    lists: list[list[Candidate]] = []
    for group in groups:
        if not is_list(group) and not isinstance(group, str):
            raise InputError(f"a question's candidates are a list of sentences, not {kind_of(group)}")
        lists.append([_candidate(candidate) for candidate in ([group] if isinstance(group, str) else group)])
    return lists


def _candidate(candidate: object) -> Candidate:
    if isinstance(candidate, str):
        return Candidate(candidate, candidate)
    if isinstance(candidate, Candidate):
        return candidate
    raise InputError(f"a candidate is a sentence, or a Candidate in its passage, not {kind_of(candidate)}")
