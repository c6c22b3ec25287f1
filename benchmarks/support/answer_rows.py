"""Questions with the spans that were read for them, to be put in order under any weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.answering.combining import Combination, ScoredSpan, add_reranking, fitted_combination, merge_equal_spans
from oreqa.answering.reading import read_spans, span_scores
from oreqa.core import Hit, Span
from oreqa.datasets.paragraphs import Paragraph, readable_title
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_READER
from oreqa.evaluation.answers import exact_match
from oreqa.evaluation.open_scores import has_answer
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import fitted_file, read_fitted
from oreqa.models.names import RERANKER
from oreqa.models.reader.reader import Reader
from oreqa.text.answers import f1_score

COMBINATION = fitted_combination(
    read_fitted(fitted_file(DEFAULT_READER).parent), read_fitted(fitted_file(DEFAULT_CLASSIFIER).parent)
)
"""The weights of the shipped models."""

RERANKED = 8
SELECTION, RETRIEVAL = (0, 0.25, 0.5, 0.75, 1.0, 1.5), (0, 1, 2, 4, 8, 12)
"""Weights that are tried: whatever they put among the ``RERANKED`` best is scored by the re-ranker."""

READ_SCORES = ("span", "passage_logit")


def answer_all(
    index: Index, reader: Reader, reranker: CrossEncoder | None, chosen: list[tuple[Paragraph, Any]], apart: bool
) -> list[dict[str, Any]]:
    """Search and read; ``apart`` leaves the passages of the question's own article out."""
    questions = [question.text for _, question in chosen]
    searched = index.search(questions, 40 if apart else PASSAGES_TOP_K, mode="hybrid", unit="passage")
    read: list[list[Hit]] = []
    for (paragraph, _), hits in zip(chosen, searched, strict=True):
        article = readable_title(paragraph.title)  # a paragraph without one is an article of its own
        others = [h for h in hits if h.passage.text != paragraph.text and not (article and h.passage.title == article)]
        read.append((others if apart else hits)[:PASSAGES_TOP_K])
    passages = [[hit.passage for hit in hits] for hits in read]
    spans = read_spans(reader, questions, passages)
    scores = [[h.score for h in hits] for hits in read]
    best = [[row[i] for i in dict.fromkeys(reconsidered(row, r))] for row, r in zip(spans, scores, strict=True)]
    rescored: list[dict[str, float]] = [{} for _ in questions]
    if reranker:
        for scores_by_span, row, logits in zip(
            rescored, best, span_scores(reranker, questions, passages, best), strict=True
        ):
            scores_by_span.update((_key(s), float(r)) for s, r in zip(row, logits, strict=True))
    rows = []
    for (_, question), row, hits, scores_by_span in zip(chosen, spans, read, rescored, strict=True):
        golds = [] if apart else [gold.text for gold in question.answers]
        rows.append(
            {
                "answerable": bool(golds),
                "right": [exact_match(s.text, golds) for s in row],
                "f1": [max((f1_score(s.text, gold) for gold in golds), default=0.0) for s in row],
                "spans": [
                    [s.text, s.start, s.end, s.passage_number, s.scores["span"], s.scores["passage_logit"]] for s in row
                ],
                "holds": [bool(golds) and has_answer(h.passage.text, OpenQuestion("", "", tuple(golds))) for h in hits],
                "hits": [[h.score, dict(h.scores)] for h in hits],
                "rescored": scores_by_span,
                "kind": reranker.folder.kind if reranker else RERANKER,
            }
        )
    return rows


def reconsidered(spans: list[Span], retrieval: list[float]) -> Iterator[int]:
    """The numbers of the spans that any of the weights that are tried puts among the best."""
    places = {_key(span): place for place, span in enumerate(spans)}
    for selection, weight, aggregate in product(SELECTION, RETRIEVAL, (False, True)):
        answers = merge_equal_spans(spans, retrieval, Combination(selection, weight, 0, aggregate=aggregate))
        yield from (places[_key(answer.span)] for answer in answers[:RERANKED])


def _key(span: Span) -> str:
    return f"{span.passage_number}:{span.start}-{span.end}"


def ranked(row: dict[str, Any], weights: Combination, again: bool) -> list[ScoredSpan]:
    """The answers of a row under other weights."""
    spans = [Span(t, a, b, p, v, {"span": v, "passage_logit": s}) for t, a, b, p, v, s in row["spans"]]
    candidates = merge_equal_spans(spans, [score for score, _ in row["hits"]], weights)
    if not again:
        return candidates
    scores = [row["rescored"][_key(c.span)] for c in candidates[: weights.rerank_spans]]
    return add_reranking(candidates, scores, weights, row["kind"])


def is_right(row: dict[str, Any], candidates: list[ScoredSpan], score: str = "right") -> float:
    """The first answer's exact match, or its ``f1``."""
    if not candidates:
        return 0.0
    best = candidates[0].span
    keys = [(s[1], s[2], s[3]) for s in row["spans"]]
    return float(row[score][keys.index((best.start, best.end, best.passage_number))])
