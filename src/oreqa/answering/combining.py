"""Combines the scores of search, reader and span re-ranker into an answer's score, and extracts its confidence features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from oreqa.core import Hit, Span
from oreqa.errors import InputError
from oreqa.models.fitted import Calibration, Fitted
from oreqa.models.names import CLASSIFIER, RERANKER
from oreqa.text.answers import normalize_answer

MAX_LOG = 10.0
"""Log-probabilities and log-odds are clipped to this magnitude in confidence features."""

SCORE_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "sentence_cosine": "search: similarity of question and sentence",
        "passage_cosine": "search: similarity of question and passage",
        "sentence_bm25": "search: words shared with the sentence",
        "passage_bm25": "search: words shared with the passage",
        "bm25_bound": "search: the most that BM25 could give the question's words",
        "hit_probability": "classifier: probability that the sentence answers",
        "before_hit_reranker": "search: the score before the classifier",
        "retrieval": "search: the passage's score",
        "span": "reader: log-probability of the span, or of its block's likeliest sentence",
        "selection": "reader: log-probability of the passage among those read",
        "passage_logit": "reader: log-odds that the passage answers",
        "structure": "added by a block's heading, and by a list that is asked for",
        "agreement": "added by equal answers elsewhere",
        "occurrences": "spans with this answer",
        "before_span_reranker": "score before re-ranking",
        "reranking": "re-ranker: log-probability of the answer's sentence, or of the span among the best",
        "reranking_logit": "classifier: log-odds that the answer's sentence answers",
    }
)
"""Every score of a hit, span or answer: its name, the stage that gives it, and its meaning."""

_SCORES = ("sentence_cosine", "passage_cosine", "sentence_bm25", "passage_bm25", "bm25_bound")


@dataclass(frozen=True, slots=True)
class Combination:
    """Weights of the scores, relative to the reader's span log-probability with weight 1.

    ``selection`` weighs the log-softmax of the passages' logits, ``retrieval`` the retriever's score, and ``reranking`` the
    cross-encoder's score of the ``rerank_spans`` best answers (RECONSIDER's K): the log-softmax of a re-ranker's scores, or
    the log-probability that a classifier gives an answer's sentence. ``aggregate`` sums the probabilities of equal answers
    instead of taking the maximum (the span aggregation of Mao et al. 2021). ``alone`` ranks by the re-ranker's score alone,
    as RECONSIDER does. The defaults, for models without fitted weights, weigh every log-probability equally.

    Examples:
        >>> Combination(retrieval=8.0).retrieval
        8.0
    """

    selection: float = 1.0
    retrieval: float = 1.0
    reranking: float = 1.0
    rerank_spans: int = 5
    aggregate: bool = True
    alone: bool = False


def fitted_combination(reader: Fitted, span_reranker: Fitted | None = None) -> Combination:
    """Return the weights fitted for a reader and a re-ranker, or the defaults."""
    return Combination(**{**reader.combination, **(span_reranker.combination if span_reranker else {})})


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """An answer: its best span, and ``others`` of equal normalised text, elsewhere or there with an article.

    ``score`` combines ``scores``.
    """

    span: Span
    score: float
    scores: Mapping[str, float]
    others: tuple[Span, ...] = ()


def merge_equal_spans(spans: Sequence[Span], retrieval: Sequence[float], weights: Combination) -> list[ScoredSpan]:
    """Return one answer for each normalised text, best first. ``retrieval`` holds the score of every passage read.

    A passage read in several windows gets the logit of the window that selects it most, whichever window its spans are from.
    """
    if not spans:
        return []
    logits: dict[int, float] = {}
    for span in spans:
        logits[span.passage_number] = max(span.scores["passage_logit"], logits.get(span.passage_number, -math.inf))
    log_total = float(np.logaddexp.reduce(list(logits.values())))
    groups: dict[str, list[ScoredSpan]] = {}
    for span in spans:
        scores = {
            "span": span.scores["span"],
            "selection": logits[span.passage_number] - log_total,
            "passage_logit": logits[span.passage_number],
            "retrieval": retrieval[span.passage_number],
        }
        score = scores["span"] + weights.selection * scores["selection"] + weights.retrieval * scores["retrieval"]
        name = normalize_answer(span.text) or span.text.lower()
        groups.setdefault(name, []).append(ScoredSpan(span, score, scores))
    merged = []
    for equal in groups.values():
        equal.sort(key=lambda scored: -scored.score)
        log_sum = float(np.logaddexp.reduce([scored.score for scored in equal]))
        best = equal[0]
        scores = {**best.scores, "agreement": log_sum - best.score, "occurrences": float(len(equal))}
        score = log_sum if weights.aggregate else best.score
        merged.append(ScoredSpan(best.span, score, scores, tuple(scored.span for scored in equal[1:])))
    return sorted(merged, key=lambda scored: -scored.score)


def add_reranking(
    answers: Sequence[ScoredSpan], logits: Sequence[float], weights: Combination, kind: str = RERANKER
) -> list[ScoredSpan]:
    """Return the answers with the first ``len(logits)`` reordered by the cross-encoder's ``logits`` and their own scores.

    A re-ranker's logits are compared among these answers (log-softmax); a classifier's are independent log-odds, and log p
    is used. The remaining answers follow, as if they had the lowest logit.
    """
    if not len(logits):
        return list(answers)
    values = np.asarray(logits, float)
    total = float(np.logaddexp.reduce(values)) if kind == RERANKER else np.logaddexp(0, values)
    reranked = []
    for answer, logit, log in zip(answers, values.tolist(), (values - total).tolist(), strict=False):
        before = 0.0 if weights.alone else answer.score
        weight = 1.0 if weights.alone else weights.reranking
        scores = {**answer.scores, "before_span_reranker": answer.score, "reranking": log}
        if kind == CLASSIFIER:
            scores["reranking_logit"] = logit
        reranked.append(replace(answer, score=before + weight * log, scores=scores))
    names = [name for name in ("reranking", "reranking_logit") if name in reranked[0].scores]
    lowest = {name: min(answer.scores[name] for answer in reranked) for name in names}
    others = [replace(answer, scores={**answer.scores, **lowest}) for answer in answers[len(reranked) :]]
    return sorted(reranked, key=lambda scored: -scored.score) + others


def sentence_features(hit: Hit, rival_score: float) -> dict[str, float]:
    """Return the confidence features of a retrieved sentence: those of the search, and its margin over ``rival_score``.

    ``rival_score`` is the score of the best other sentence, 0 if there is none. Raises InputError as
    ``_search_features`` does.
    """
    return {**_search_features(hit), "margin": hit.score - rival_score}


def _search_features(hit: Hit) -> dict[str, float]:
    """Return the cosines, and the IDF-weighted share of the question's words that BM25 matches in sentence and passage.

    Raises InputError if a score is missing because the search gives it no weight.
    """
    scores = hit.scores
    if missing := [name for name in _SCORES if name not in scores]:
        raise InputError(f"the confidence needs the retrieval score {missing[0]}: give it a weight, or use no calibration")
    bound = max(scores["bm25_bound"], 1e-6)
    return {
        "sentence_cosine": scores["sentence_cosine"],
        "passage_cosine": scores["passage_cosine"],
        "sentence_coverage": scores["sentence_bm25"] / bound,
        "passage_coverage": scores["passage_bm25"] / bound,
    }


def span_features(answer: ScoredSpan, hits: Sequence[Hit]) -> dict[str, float]:
    """Return the confidence features of an answer read in ``hits``.

    They are: the search features of its passage; the number of passages before it, as read or by score, whichever is less,
    because entries on what the question names are read first; the log-probability of its ends; its passage's logit, which is
    the log-odds against there being no answer (the null score of SQuAD 2.0, negated); what spans of the same text add; the
    log-probability of the re-ranker or classifier; and the classifier's log-odds, which separate answers that are nearly
    certain. The models' features are clipped to ``MAX_LOG``.
    """
    place = answer.span.passage_number
    return {
        **_search_features(hits[place]),
        "passage_rank": float(min(place, sum(hit.score > hits[place].score for hit in hits))),
        "span": max(answer.scores["span"], -MAX_LOG),
        "passage_logit": answer.scores["passage_logit"],
        "agreement": answer.scores["agreement"],
        "reranking": max(answer.scores.get("reranking", 0.0), -MAX_LOG),
        "reranking_logit": min(max(answer.scores.get("reranking_logit", 0.0), -MAX_LOG), MAX_LOG),
    }


def fitted_calibration(
    encoder: Fitted, fingerprint: str, reader: Fitted | None, span_reranker: Fitted | None
) -> Calibration | None:
    """Return the calibration of the last model in the chain: the re-ranker, the reader, or the encoder.

    ``fingerprint`` is that of the index's encoder. None if one of the models was fitted with another encoder,
    unless the index's encoder replaces that one.
    """
    if reader is None:
        return encoder.calibration
    calibration = (span_reranker or reader).calibration
    if calibration is None or not encoder.fusion:
        return None
    encoders = {fitted.encoder for fitted in (reader, span_reranker) if fitted}
    if encoder.replaced and encoders == {encoder.replaced.encoder}:
        return calibration.rescaled(encoder.replaced.scales, encoder.replaced.offsets)
    return calibration if encoders == {fingerprint} else None
