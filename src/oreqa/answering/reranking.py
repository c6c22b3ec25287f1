"""Re-ranks hits: sentences by a classifier's probability that they answer, passages by a reader's log-odds that they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from oreqa.arrays import Floats, Reals, Rows
from oreqa.core import Hit
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.pairs import Candidate, sentence_candidate
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.names import CLASSIFIER
from oreqa.models.reader.reader import Reader

READER_WEIGHT, MAX_LOG_ODDS = 0.05, 10.0
"""The weight of a reader's log-odds against the retrieval score, and the magnitude to which they are clipped."""


def load_hit_reranker(name: str | Path | None, device: str = "cpu") -> CrossEncoder | None:
    """Load the classifier that re-ranks hits; return None without a name."""
    return None if name is None else CrossEncoder(name, device=device, kind=CLASSIFIER)


def reranked_hits(
    classifier: CrossEncoder,
    questions: Sequence[str],
    hits: Sequence[Sequence[Hit]],
    depth: int,
) -> list[list[Hit]]:
    """Re-rank the first ``depth`` hits of each question by ``score + weight * log p``, which becomes their score.

    The remaining hits keep their order, with scores lowered by a constant. ``weight`` is fitted for the classifier.
    ``Hit.scores`` then holds p as ``hit_probability`` and the previous score as ``before_hit_reranker``.
    """
    weight = rerank_weight(classifier)
    logits = classifier.score(questions, [[hit_candidate(hit) for hit in retrieved[:depth]] for retrieved in hits])
    reranked = []
    for retrieved, hit_logits in zip(hits, logits, strict=True):
        scores = rerank_scores(np.array([hit.score for hit in retrieved]), np.arange(len(hit_logits)), hit_logits, weight)
        rescored = [replace(hit, score=score) for hit, score in zip(retrieved, scores.tolist(), strict=True)]
        for place, p in enumerate(probability(hit_logits).tolist()):
            hit = retrieved[place]
            by_name = {**hit.scores, "hit_probability": p, "before_hit_reranker": hit.score}
            rescored[place] = replace(rescored[place], scores=by_name)
        reranked.append(sorted(rescored, key=lambda hit: -hit.score))
    return reranked


def reader_ranked(reader: Reader, questions: Sequence[str], hits: Sequence[Sequence[Hit]]) -> list[list[Hit]]:
    """Return each question's passages in the order of ``score + READER_WEIGHT * log-odds``, their scores unchanged.

    The log-odds are the ``reader``'s that a passage answers; without a span of it, ``-MAX_LOG_ODDS``.
    """
    texts = [[(passage_head(hit.passage.title, hit.passage.heading), hit.passage.text) for hit in group] for group in hits]
    ranked = []
    for group, spans in zip(hits, reader.read(questions, texts, k=1), strict=True):
        scores = [hit.score - READER_WEIGHT * MAX_LOG_ODDS for hit in group]
        for span in spans:
            log_odds = max(-MAX_LOG_ODDS, min(span.scores["passage_logit"], MAX_LOG_ODDS))
            scores[span.passage_number] = group[span.passage_number].score + READER_WEIGHT * log_odds
        ranked.append([group[place] for place in sorted(range(len(group)), key=lambda place: -scores[place])])
    return ranked


def rerank_weight(classifier: CrossEncoder) -> float:
    """Return the weight of the log-probability against the retrieval score: the fitted one, else 1."""
    weight = classifier.folder.fitted.rerank_weight
    return 1.0 if weight is None else weight


def rerank_scores(scores: Reals, best: Rows, logits: Floats, weight: float) -> Reals:
    """Return ``scores`` with ``weight * log p`` added at the indices ``best``; the others are lowered to stay below them."""
    combined = scores.copy()
    combined[best] += weight * log_probability(logits)
    others = np.ones(len(scores), bool)
    others[best] = False
    if len(best) and others.any():
        lowest, highest = combined[best].min(), combined[others].max()
        if highest >= lowest:
            combined[others] -= highest - lowest + np.float32(1e-3)
    return combined


def hit_candidate(hit: Hit) -> Candidate:
    """Return the candidate for a hit: its sentence, in its passage."""
    return sentence_candidate(hit.passage, hit.sentence)


def log_probability(logits: Floats) -> Floats:
    """Return log p for log-odds (logits), without overflow: the log-sigmoid."""
    return -np.logaddexp(np.float32(0), -logits)


def probability(logits: Floats) -> Floats:
    """Return p for log-odds (logits): the sigmoid."""
    return np.exp(log_probability(logits))
