"""Reading retrieved passages: every answer of the reader, scored as one and reconsidered by the span re-ranker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oreqa.answering.combining import Combination, ScoredSpan, add_reranking, fitted_combination, merge_equal_spans
from oreqa.core import Passage, Span
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.pairs import Candidate
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Fitted
from oreqa.models.reader.reader import CHUNK, Reader

SPANS_TOP_K = 10
"""Spans that are taken from each passage."""


def combination_of(reader: Reader | None, reranker: CrossEncoder | None) -> Combination:
    """The weights of the scores of answers that were fitted for the models; plain ones for a model without."""
    return fitted_combination(reader.folder.fitted if reader else Fitted(), reranker.folder.fitted if reranker else None)


def read_answers(
    reader: Reader,
    reranker: CrossEncoder | None,
    questions: Sequence[str],
    passages: Sequence[Sequence[Passage]],
    retrieval: Sequence[Sequence[float]],
    combination: Combination | None = None,
) -> list[list[ScoredSpan]]:
    """Every answer that the reader finds in the ``passages`` of each question, best first by the one score.

    ``retrieval`` holds the retriever's score of each passage. The ``combination.reranked`` best are reconsidered by the
    ``reranker``, if there is one (RECONSIDER, Iyer et al. 2021). Without a ``combination`` the weights are those that were
    fitted for the models.
    """
    weights = combination or combination_of(reader, reranker)
    answers: list[list[ScoredSpan]] = []
    for begin in range(0, len(questions), CHUNK):
        part = slice(begin, begin + CHUNK)
        texts = [[(passage_head(p.title, p.heading), p.text) for p in of_question] for of_question in passages[part]]
        spans = reader.read(questions[part], texts, SPANS_TOP_K)
        ranked = [merge_equal_spans(*of_question, weights) for of_question in zip(spans, retrieval[part], strict=True)]
        if reranker is not None:
            scores = rerank_spans(
                reranker, questions[part], texts, [[c.span for c in best[: weights.reranked]] for best in ranked]
            )
            ranked = [add_reranking(best, s.tolist(), weights) for best, s in zip(ranked, scores, strict=True)]
        answers += ranked
    return answers


def rerank_spans(
    reranker: CrossEncoder,
    questions: Sequence[str],
    passages: Sequence[Sequence[tuple[str, str]]],
    spans: Sequence[Sequence[Span]],
) -> list[NDArray[np.float32]]:
    """RECONSIDER's score of each span, shown in its passage ``(title, text)``: ``[spans]`` a question."""
    shown = []
    for texts, of_question in zip(passages, spans, strict=True):
        shown.append(
            [Candidate(s.text, texts[s.passage_number][1], texts[s.passage_number][0], s.start) for s in of_question]
        )
    return reranker.score(questions, shown)
