"""Answers with their evidence: search, then the probability that what was found answers the question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oreqa.core import Answer, Hit
from oreqa.errors import InputError
from oreqa.index.search import Index, check_request

CONSIDERED = 10
"""Sentences that are retrieved for a question; the best ``k`` of them are answers."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from a sentence's scores to the probability that it answers the question.

    ``weights`` go with ``features``; an answer below ``threshold`` is not given. Fitted on questions of other sets than
    SQuAD dev, half of them asked of documents that cannot answer them: docs/results/confidence.md.
    """

    weights: Mapping[str, float]
    bias: float
    threshold: float

    def probability(self, features: Mapping[str, float]) -> float:
        total = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-total)) if total > -700 else 0.0


CALIBRATION = Calibration(
    weights={
        "sentence_cosine": 2.122,
        "passage_cosine": 1.511,
        "sentence_coverage": 2.436,
        "passage_coverage": 0.902,
        "margin": 5.353,
    },
    bias=-5.348,
    threshold=0.13,
)


def features(hit: Hit, best_other: float) -> dict[str, float]:
    """What the confidence of a hit is computed from.

    The cosines; the share of the question's words, weighted by their IDF, that BM25 finds in the sentence and in its
    passage; and the margin of the score over the best other sentence's (0 where there is none).
    """
    bound = max(hit.parts["bm25_bound"], 1e-6)
    return {
        "sentence_cosine": hit.parts["sentence_cosine"],
        "passage_cosine": hit.parts["passage_cosine"],
        "sentence_coverage": hit.parts["sentence_bm25"] / bound,
        "passage_coverage": hit.parts["passage_bm25"] / bound,
        "margin": hit.score - best_other,
    }


class Answerer:
    """Answers questions from one index."""

    def __init__(self, index: Index, calibration: Calibration = CALIBRATION) -> None:
        self.index = index
        self.calibration = calibration

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu") -> Answerer:
        """Open an index to ask it. Raises IndexStateError if it cannot be searched."""
        return cls(Index.open(folder, device))

    def ask(
        self,
        question: str,
        k: int = 3,
        where: Sequence[tuple[str, str]] = (),
        threshold: float | None = None,
    ) -> list[Answer]:
        """Up to ``k`` answers, best first; none if the documents do not seem to hold one.

        ``where`` holds conditions ``(field, value)`` on the documents. ``threshold`` of None is the calibrated one; 0
        gives the best sentences whatever they are worth. Raises InputError for an empty question.
        """
        if not isinstance(question, str) or not question.strip():
            raise InputError("the question is empty")
        return self.ask_all([question], k, where, threshold)[0]

    def ask_all(
        self,
        questions: Sequence[str],
        k: int = 3,
        where: Sequence[tuple[str, str]] = (),
        threshold: float | None = None,
    ) -> list[list[Answer]]:
        """The same for many questions, searched together."""
        check_request(questions, k, "hybrid", "sentence")
        least = self.calibration.threshold if threshold is None else threshold
        if not 0 <= least <= 1:
            raise InputError(f"the threshold is {least}; it must lie between 0 and 1")
        found = self.index.search(questions, max(k, CONSIDERED), "hybrid", "sentence", where)
        return [self._answers(hits, k, least) for hits in found]

    def _answers(self, hits: Sequence[Hit], k: int, least: float) -> list[Answer]:
        answers = []
        for place, hit in enumerate(hits[:k]):
            rival = hits[1 if place == 0 else 0].score if len(hits) > 1 else hit.score
            confidence = self.calibration.probability(features(hit, rival))
            if confidence >= least:
                answers.append(Answer(hit.sentence.text, confidence, hit.sentence, hit.passage, hit.score, dict(hit.parts)))
        return answers
