"""The probability that an answer is right, from the scores of the stages that found it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oreqa.answering.combining import Candidate
from oreqa.core import Hit


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from scores to the probability that an answer is right.

    ``weights`` go with the features; an answer below ``threshold`` is not given. Fitted on questions of other sets than
    SQuAD dev, half of them asked of documents that cannot answer them: docs/results/confidence.md.
    """

    weights: Mapping[str, float]
    bias: float
    threshold: float

    def probability(self, features: Mapping[str, float]) -> float:
        total = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-total)) if total > -700 else 0.0


SENTENCES = Calibration(
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
"""For sentences as answers, without a reader."""

SPANS = Calibration(
    weights={
        "sentence_cosine": 0.392,
        "passage_cosine": 0.695,
        "sentence_coverage": 1.062,
        "passage_coverage": 0.267,
        "reading": 0.317,
        "passage": 0.461,
        "margin": 0.203,
        "agreement": 1.841,
        "reranking": 0.226,
    },
    bias=-5.14,
    threshold=0.11,
)
"""For spans that a reader found: docs/results/reconsider.md."""


def sentence_features(hit: Hit, best_other: float) -> dict[str, float]:
    """What the confidence of a retrieved sentence is computed from.

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


def span_features(candidates: Sequence[Candidate], place: int, hits: Sequence[Hit]) -> dict[str, float]:
    """What the confidence of the answer at ``place`` is computed from; ``hits`` are the passages that were read.

    Retrieval's features of its passage; the log-probability of its ends; its passage's logit, which is the log-odds
    against there being no answer (the null score of SQuAD 2.0 with its sign turned); the margin over the best other
    answer (at most ``MOST_MARGIN`` either way); what equal answers elsewhere add; and the re-ranker's log-probability.
    """
    own = candidates[place]
    rival = candidates[1 if place == 0 else 0].score if len(candidates) > 1 else own.score - MOST_MARGIN
    hit = hits[own.span.passage_number]
    return {
        **sentence_features(hit, hit.score),
        "reading": max(own.parts["reading"], -MOST_MARGIN),
        "passage": own.parts["passage"],
        "margin": min(max(own.score - rival, -MOST_MARGIN), MOST_MARGIN),
        "agreement": own.parts["agreement"],
        "reranking": max(own.parts.get("reranking", 0.0), -MOST_MARGIN),
    }


MOST_MARGIN = 10.0
