"""Scoring candidate answers with the question and the candidate in one input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.datasets.pairs import Candidate
from oreqa.errors import InputError
from oreqa.models.cross_encoder.folder import CrossEncoderFolder, read_cross_encoder_folder
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs
from oreqa.models.folders import find_model
from oreqa.models.graph.session import Session, check_finite, load_session
from oreqa.models.graph.windows import window_batches

CHUNK = 64
"""Questions scored together: enough to sort candidates by length, and few enough to keep their tokens in memory."""


class CrossEncoder:
    """A loaded cross-encoder. Its folder says what its score means and how it is shown a candidate.

    A ``classifier``'s score is the log-odds that the candidate answers the question (Yang et al. 2021, section 4.1); a
    ``reranker``'s compares spans of one question (RECONSIDER, Iyer et al. 2021, Eq. 1).
    """

    def __init__(self, session: Session, folder: CrossEncoderFolder) -> None:
        self.folder = folder
        self._session = session
        self._inputs = CrossEncoderInputs(folder.tokenizer, folder.max_tokens, folder.marking, folder.titles, folder.closing)

    @classmethod
    def load(
        cls, name: str | Path, device: str = "cpu", precision: str | None = None, kind: str | None = None
    ) -> CrossEncoder:
        """Load a model by name or folder; sentence-transformers' CrossEncoders of one output, or two, load as they are.

        ``precision`` as in ``Reader.load``. Raises ModelError for a folder that is missing, damaged or not of the ``kind``,
        InputError for a precision that the processor does not offer.
        """
        folder = read_cross_encoder_folder(find_model(name), kind)
        return cls(load_session("cross_encoder", folder, device, precision), folder)

    @property
    def stamp(self) -> str:
        """A hash of the model's files: cross-encoders with the same stamp, in the same precision, give the same scores."""
        from oreqa.models.graph.cache import model_stamp

        return model_stamp(self.folder.path)

    def score(
        self,
        questions: Sequence[str],
        candidates: Sequence[Sequence[Candidate]],
        progress: Callable[[int], None] | None = None,
    ) -> list[NDArray[np.float32]]:
        """The score of each candidate of each question, ``[candidates]`` for each question.

        ``progress`` is called with the number of questions done since its last call.
        """
        if isinstance(questions, str) or len(questions) != len(candidates):
            raise InputError("score takes a list of questions, and for each a list of candidates")
        scores = [np.zeros(len(of_question), np.float32) for of_question in candidates]
        for begin in range(0, len(questions), CHUNK):
            chunk = range(begin, min(begin + CHUNK, len(questions)))
            owners = [(q, place) for q in chunk for place in range(len(candidates[q]))]
            windows = self._inputs.windows([(questions[q], candidates[q][place]) for q, place in owners])
            for batch, (batch_scores,) in self._session.run(window_batches(windows)):
                check_finite(batch_scores, self.folder.path)
                for row, number in enumerate(batch.numbers):
                    q, place = owners[number]
                    scores[q][place] = batch_scores[row]
            if progress:
                progress(len(chunk))
        return scores
