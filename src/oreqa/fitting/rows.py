"""Questions with the spans read for them, to be ranked under any weights: rows that a file can store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from oreqa.answering.combining import Combination, ScoredSpan, add_reranking, merge_equal_spans, span_features
from oreqa.answering.reading import read_spans, span_scores
from oreqa.arrays import Doubles, Rows
from oreqa.core import Hit, Span
from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.open_scores import has_answer, score_open
from oreqa.fitting.calibrating import JudgedAnswers
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.names import CLASSIFIER, RERANKER
from oreqa.models.reader.reader import Reader

RESCORED = 8
SELECTION, RETRIEVAL = (0, 0.25, 0.5, 0.75, 1.0, 1.5), (0, 1, 2, 4, 8, 12)
"""Weights tried: whatever they put among the ``RESCORED`` best is scored by the re-ranker."""

RERANKING, RERANKED_SPANS = (0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 4.0), (3, 5, 8)

FEATURES = (
    "sentence_cosine", "passage_cosine", "sentence_coverage", "passage_coverage", "passage_rank", "span", "passage_logit",
    "agreement",
)  # fmt: skip
RERANKER_FEATURES: Mapping[str | None, tuple[str, ...]] = {
    None: (), RERANKER: ("reranking",), CLASSIFIER: ("reranking_logit",),
}  # fmt: skip
"""The features added by a re-ranker, and by a classifier."""

Row = dict[str, Any]
"""A question, ``answerable`` or not, with its ``spans`` and whether each is ``right`` (EM), their ``f1``, the ``hits`` they
were read in, and the ``rescored`` spans' scores by a re-ranker of this ``kind`` (None without one)."""


def reading_rows(
    reader: Reader,
    reranker: CrossEncoder | None,
    questions: Sequence[OpenQuestion],
    hits: Sequence[Sequence[Hit]],
    also: Combination | None = None,
) -> list[Row]:
    """Read the hits of each question. Answers to unanswerable questions are wrong.

    ``also`` are weights that will be tried besides those of the grid.
    """
    texts = [question.text for question in questions]
    passages = [[hit.passage for hit in question_hits] for question_hits in hits]
    spans = read_spans(reader, texts, passages)
    rescored: list[dict[str, float]] = [{} for _ in questions]
    if reranker is not None:
        scores = [[hit.score for hit in question_hits] for question_hits in hits]
        best = [[row[i] for i in dict.fromkeys(reconsidered(row, r, also))] for row, r in zip(spans, scores, strict=True)]
        for by_span, row, logits in zip(rescored, best, span_scores(reranker, texts, passages, best), strict=True):
            by_span.update((span_key(span), float(logit)) for span, logit in zip(row, logits, strict=True))
    kind = reranker.folder.kind if reranker else None
    return [
        {**_judged(question, row, question_hits), "rescored": by_span, "kind": kind}
        for question, row, question_hits, by_span in zip(questions, spans, hits, rescored, strict=True)
    ]


def _judged(question: OpenQuestion, spans: Sequence[Span], hits: Sequence[Hit]) -> Row:
    answerable = question.is_answerable
    scores = [score_open(question, span.text) for span in spans]
    return {
        "answerable": answerable,
        "right": [float(answerable and score.em) for score in scores],
        "f1": [float(answerable and score.f1) for score in scores],
        "spans": [[s.text, s.start, s.end, s.passage_number, s.scores["span"], s.scores["passage_logit"]] for s in spans],
        "holds": [answerable and has_answer(hit.passage.text, question) for hit in hits],
        "hits": [[hit.score, dict(hit.scores)] for hit in hits],
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The spans of a question, grouped by equal answer, for many weights at once.

    ``numbers`` are their places in the row, ``answers`` those of their answers, ``starts`` where each answer's group begins;
    ``scores`` [spans, 3] are log-probability, the passage's log-softmax and its retrieval score, one for each weight.
    """

    numbers: Rows
    answers: Rows
    starts: Rows
    scores: Doubles

    def merged(self, weights: Combination) -> tuple[Rows, Doubles]:
        """Return, for each answer, its best span's number and its score, like ``merge_equal_spans``."""
        total = self.scores @ np.array([1.0, weights.selection, weights.retrieval])
        highest = np.maximum.reduceat(total, self.starts)
        places = np.flatnonzero(total == highest[self.answers])
        first = places[np.searchsorted(places, self.starts)]
        return self.numbers[first], np.logaddexp.reduceat(total, self.starts) if weights.aggregate else highest

    def first(self, weights: Combination, logits: Doubles | None, kind: str | None) -> int:
        """Return the number of the first answer's span; re-ranked if there are ``logits`` of the spans by number."""
        spans, scores = self.merged(weights)
        if logits is None:
            return int(spans[np.argmax(scores)])
        best = np.argsort(-scores, kind="stable")[: weights.rerank_spans]
        values = logits[spans[best]]
        log = values - (np.logaddexp.reduce(values) if kind == RERANKER else np.logaddexp(0, values))
        again = log if weights.alone else scores[best] + weights.reranking * log
        return int(spans[best[np.argmax(again)]])


def _grouped(spans: Sequence[Span], retrieval: Sequence[float]) -> _Groups:
    """Return the groups of one or more spans, in the order of their first."""
    places = {id(span): place for place, span in enumerate(spans)}  # two spans may have become the same whole cell
    merged = merge_equal_spans(spans, retrieval, Combination())
    groups = sorted(sorted(places[id(span)] for span in (answer.span, *answer.others)) for answer in merged)
    numbers, sizes = np.concatenate(groups), [len(group) for group in groups]
    answers, starts = np.repeat(np.arange(len(groups)), sizes), np.cumsum([0, *sizes[:-1]])
    return _Groups(numbers, answers, starts, _scores_of(spans, retrieval)[numbers])


def reconsidered(spans: Sequence[Span], retrieval: Sequence[float], also: Combination | None = None) -> Iterator[int]:
    """Yield the numbers of the spans that any tried weights put among the ``RESCORED`` best, plus one more."""
    if not spans:
        return
    groups = _grouped(spans, retrieval)
    selections, weights = ((*SELECTION, also.selection), (*RETRIEVAL, also.retrieval)) if also else (SELECTION, RETRIEVAL)
    for selection, weight, aggregate in product(selections, weights, (False, True)):
        numbers, scores = groups.merged(Combination(selection, weight, aggregate=aggregate))
        yield from numbers[np.argsort(-scores, kind="stable")[: RESCORED + 1]].tolist()


def _scores_of(spans: Sequence[Span], retrieval: Sequence[float]) -> Doubles:
    """Return each span's log-probability, its passage's log-softmax and its passage's retrieval score: ``[spans, 3]``."""
    logits: dict[int, float] = {}
    for span in spans:
        logits[span.passage_number] = max(span.scores["passage_logit"], logits.get(span.passage_number, -np.inf))
    log_total = float(np.logaddexp.reduce(list(logits.values())))
    return np.array([[s.scores["span"], logits[s.passage_number] - log_total, retrieval[s.passage_number]] for s in spans])


def span_key(span: Span) -> str:
    return f"{span.passage_number}:{span.start}-{span.end}"


def _spans_of(row: Row) -> list[Span]:
    return [Span(t, a, b, p, v, {"span": v, "passage_logit": s}) for t, a, b, p, v, s in row["spans"]]


def ranked_answers(row: Row, weights: Combination, reranked: bool) -> list[ScoredSpan]:
    """Return the answers of a row under other weights, best first; ``reranked`` by the re-ranker, or as before."""
    candidates = merge_equal_spans(_spans_of(row), [score for score, _ in row["hits"]], weights)
    if not reranked:
        return candidates
    scores = [row["rescored"][span_key(answer.span)] for answer in candidates[: weights.rerank_spans]]
    return add_reranking(candidates, scores, weights, row["kind"])


def first_score(row: Row, answers: Sequence[ScoredSpan], score: str = "right") -> float:
    """Return the first answer's exact match, or its ``f1``."""
    if not answers:
        return 0.0
    best = answers[0].span
    places = [(start, end, number) for _, start, end, number, *_ in row["spans"]]
    return float(row[score][places.index((best.start, best.end, best.passage_number))])


def mean_score(rows: Sequence[Row], weights: Combination, reranked: bool, score: str = "right") -> float:
    """Return the mean score of the first answers to the answerable questions, in percent."""
    return _mean(_scorable(rows, reranked), weights, score)


_Scorable = list[tuple[_Groups | None, Doubles | None, Row]]


def _scorable(rows: Sequence[Row], reranked: bool) -> _Scorable:
    """Return the span groups of the answerable questions and, if ``reranked``, the re-ranker's scores."""
    scorable: _Scorable = []
    for row in rows:
        if row["answerable"]:
            spans = _spans_of(row)
            groups = _grouped(spans, [value for value, _ in row["hits"]]) if spans else None
            logits = np.array([row["rescored"].get(span_key(span), np.nan) for span in spans]) if reranked else None
            scorable.append((groups, logits, row))
    return scorable


def _mean(rows: _Scorable, weights: Combination, score: str) -> float:
    firsts = [row[score][groups.first(weights, logits, row["kind"])] if groups else 0.0 for groups, logits, row in rows]
    return 100 * float(np.mean(firsts))


def best_combination(sets: Sequence[Sequence[Row]], reranked: bool, start: Combination, score: str = "right") -> Combination:
    """Return the weights with the best mean score over the sets, coordinate by coordinate, starting from ``start``.

    A weight that makes no difference is unchanged.
    """
    grids: dict[str, tuple[Any, ...]] = {"selection": SELECTION, "retrieval": RETRIEVAL, "aggregate": (False, True)}
    if reranked:
        grids |= {"reranking": RERANKING, "rerank_spans": RERANKED_SPANS}
    scorable = [_scorable(rows, reranked) for rows in sets]
    best, highest = start, float(np.mean([_mean(rows, start, score) for rows in scorable]))
    for _ in range(2):
        for name, values in grids.items():
            for value in values:
                trial = replace(best, **{name: value})
                mean = float(np.mean([_mean(rows, trial, score) for rows in scorable]))
                if mean > highest + 1e-9:
                    best, highest = trial, mean
    return best


def judged_answers(
    rows: Sequence[Row], weights: Combination, reranked: bool, names: Sequence[str], least_f1: float
) -> JudgedAnswers:
    """Return the best answers of the rows with the features of these names; those with an F1 of ``least_f1`` are right.

    A row without a span has no answer to judge.
    """
    x, right, answerable = [], [], []
    for row in rows:
        candidates = ranked_answers(row, weights, reranked)
        if candidates:
            hits = [Hit(score, None, None, 0, 0, parts) for score, parts in row["hits"]]  # type: ignore[arg-type]
            features = span_features(candidates[0], hits)
            x.append([features[name] for name in names])
            right.append(first_score(row, candidates, "f1") >= least_f1)
            answerable.append(row["answerable"])
    return JudgedAnswers(np.array(x, float).reshape(-1, len(names)), np.array(right, bool), np.array(answerable, bool))
