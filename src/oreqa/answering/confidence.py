"""What the probability that an answer is right is computed from: the scores of the stages that found it."""

from __future__ import annotations

from collections.abc import Sequence

from oreqa.answering.combining import ScoredSpan
from oreqa.core import Hit
from oreqa.errors import InputError

MAX_MARGIN = 10.0
"""Log-probabilities and margins count no further than this."""

_SCORES = ("sentence_cosine", "passage_cosine", "sentence_bm25", "passage_bm25", "bm25_bound")


def sentence_features(hit: Hit, rival_score: float) -> dict[str, float]:
    """What the confidence of a retrieved sentence is computed from.

    The cosines; the share of the question's words, weighted by their IDF, that BM25 finds in the sentence and in its
    passage; and the margin of the score over the best other sentence's, ``rival_score`` (0 where there is none). Raises
    InputError if a score is missing because the search gives it no weight.
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
        "margin": hit.score - rival_score,
    }


def span_features(answers: Sequence[ScoredSpan], place: int, hits: Sequence[Hit]) -> dict[str, float]:
    """What the confidence of the answer at ``place`` is computed from; ``hits`` are the passages that were read.

    Retrieval's features of its passage; the log-probability of its ends; its passage's logit, which is the log-odds
    against there being no answer (the null score of SQuAD 2.0 with its sign turned); the margin over the best other
    answer (at most ``MAX_MARGIN`` either way); what spans of the same text add; the re-ranker's or the classifier's
    log-probability; and the classifier's log-odds, which tell apart what is nearly certain.
    """
    answer = answers[place]
    rival_score = answers[1 if place == 0 else 0].score if len(answers) > 1 else answer.score - MAX_MARGIN
    hit = hits[answer.span.passage_number]
    return {
        **sentence_features(hit, hit.score),
        "span": max(answer.scores["span"], -MAX_MARGIN),
        "passage_logit": answer.scores["passage_logit"],
        "margin": min(max(answer.score - rival_score, -MAX_MARGIN), MAX_MARGIN),
        "agreement": answer.scores["agreement"],
        "reranking": max(answer.scores.get("reranking", 0.0), -MAX_MARGIN),
        "reranking_logit": min(max(answer.scores.get("reranking_logit", 0.0), -MAX_MARGIN), MAX_MARGIN),
    }
