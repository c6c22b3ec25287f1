"""The cross-attention classifier at inference: the probability that a sentence answers a question, and re-ranking by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.core import Hit, Span
from oreqa.corpus.chunks import passage_head
from oreqa.datasets.pairs import Candidate
from oreqa.errors import InputError
from oreqa.models.folders import find_model
from oreqa.models.heads import CLASSIFIER, HeadFolder, read_head_folder
from oreqa.models.inputs import InputMaker, Window
from oreqa.runtime.batches import check_finite
from oreqa.runtime.reader import CHUNK, HeadBatch, window_batches

Logits = NDArray[np.float32]
Floats = NDArray[np.floating]

RERANK_WEIGHT = 0.3
"""Weight of the log-probability against the retriever's score: docs/results/augmentation.md."""


class ClassifierSession(Protocol):
    """A compiled classifier. Logits ``[batch]`` come with their batches, in order."""

    def run(self, batches: Iterator[HeadBatch]) -> Iterator[tuple[HeadBatch, list[NDArray[Any]]]]: ...


class Classifier:
    """A loaded classifier. Its folder says how it is shown a sentence: alone, or marked in its passage."""

    def __init__(self, session: ClassifierSession, folder: HeadFolder) -> None:
        self.folder = folder
        self._session = session
        self._inputs = InputMaker(folder.tokenizer, folder.max_tokens, 0, folder.titles, folder.closing)

    @classmethod
    def load(cls, name: str | Path, device: str = "cpu", precision: str | None = None) -> Classifier:
        """Load a model by name or folder; CrossEncoders of one output, or two, load as they are.

        ``precision`` as in ``PassageReader.load``. Raises ModelError for a folder that is missing, damaged or of another
        kind, InputError for a precision that the processor does not offer.
        """
        folder = read_head_folder(find_model(name), CLASSIFIER)
        if device == "cpu":
            from oreqa.runtime.openvino_heads import OpenVinoClassifier

            session: ClassifierSession = OpenVinoClassifier(folder, precision)
        elif device == "cuda":
            from oreqa.runtime.torch_heads import TorchClassifier

            session = TorchClassifier(folder, device, precision)
        else:
            raise InputError(f"there is no device {device!r}: choose cpu or cuda")
        return cls(session, folder)

    @property
    def stamp(self) -> str:
        """A hash of the model's files: classifiers with the same stamp, in the same precision, give the same scores."""
        from oreqa.runtime.cache import model_stamp

        return model_stamp(self.folder.path)

    def score(
        self,
        questions: Sequence[str],
        candidates: Sequence[Sequence[Candidate]],
        progress: Callable[[int], None] | None = None,
    ) -> list[Logits]:
        """The log-odds that each candidate answers its question: ``[candidates]`` for each question.

        ``progress`` is called with the number of questions done since its last call.
        """
        if isinstance(questions, str) or len(questions) != len(candidates):
            raise InputError("score takes a list of questions, and for each a list of candidates")
        out = [np.zeros(len(own), np.float32) for own in candidates]
        for begin in range(0, len(questions), CHUNK):
            part = range(begin, min(begin + CHUNK, len(questions)))
            owners = [(q, place) for q in part for place in range(len(candidates[q]))]
            pairs = [(questions[q], candidates[q][place]) for q, place in owners]
            windows = show(self._inputs, pairs, self.folder.marking)
            for batch, (logits,) in self._session.run(window_batches(windows)):
                check_finite(logits, self.folder.path)
                for row, item in enumerate(batch.items):
                    q, place = owners[item]
                    out[q][place] = logits[row]
            if progress:
                progress(len(part))
        return out

    def rerank(
        self, questions: Sequence[str], hits: Sequence[Sequence[Hit]], depth: int, weight: float = RERANK_WEIGHT
    ) -> list[list[Hit]]:
        """The hits of each question, the first ``depth`` in the order of ``score + weight * log p``, which becomes their
        score; the others follow, all lowered alike.

        ``parts`` has the probability p as ``classifier``, and the score before as ``retrieved``.
        """
        logits = self.score(questions, [[candidate_of(hit) for hit in own[:depth]] for own in hits])
        out = []
        for own, found in zip(hits, logits, strict=True):
            scores = rerank_scores(np.array([hit.score for hit in own]), np.arange(len(found)), found, weight)
            again = [replace(hit, score=score) for hit, score in zip(own, scores.tolist(), strict=True)]
            for place, p in enumerate(probability(found).tolist()):
                parts = {**own[place].parts, "classifier": p, "retrieved": own[place].score}
                again[place] = replace(again[place], parts=parts)
            out.append(sorted(again, key=lambda hit: -hit.score))
        return out


def show(inputs: InputMaker, pairs: Sequence[tuple[str, Candidate]], marking: str) -> list[Window]:
    """The classifier's input of every question and candidate; each text is tokenised once."""
    if marking == "alone":
        pairs = [(question, Candidate(candidate.answer, candidate.answer)) for question, candidate in pairs]
    known = sorted({text for question, candidate in pairs for text in (question, candidate.title, candidate.context)})
    tokens = dict(zip(known, inputs.tokenize(known), strict=True))
    windows = []
    for question, candidate in pairs:
        start = candidate.context.index(candidate.answer)
        span = Span(candidate.answer, start, start + len(candidate.answer), 0, 0.0, {})
        windows.append(inputs.marked(tokens[question], tokens[candidate.title], tokens[candidate.context], span, marking))
    return windows


def rerank_scores(scores: Floats, best: NDArray[np.intp], logits: Logits, weight: float = RERANK_WEIGHT) -> Floats:
    """The ``scores`` with ``weight * log p`` added to those at ``best``; the others, which were lower, stay below them."""
    again = scores.copy()
    again[best] += weight * log_probability(logits)
    others = np.delete(again, best)
    if len(best) and len(others):
        lowest, highest = again[best].min(), others.max()
        if highest >= lowest:
            again -= highest - lowest + np.float32(1e-3)
            again[best] += highest - lowest + np.float32(1e-3)
    return again


def candidate_of(hit: Hit) -> Candidate:
    """A hit's sentence in its passage."""
    return Candidate(hit.sentence.text, hit.passage.text, passage_head(hit.passage.title, hit.passage.heading))


def log_probability(logits: Logits) -> Logits:
    """log p of log-odds, without overflow."""
    return -np.logaddexp(np.float32(0), -logits)


def probability(logits: Logits) -> Logits:
    """p of log-odds."""
    return np.exp(log_probability(logits))
