"""Reading retrieved passages: every answer of the reader, scored as one and reconsidered by the span re-ranker."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from oreqa.answering.combining import Combination, ScoredSpan, add_reranking, fitted_combination, merge_equal_spans
from oreqa.core import Passage, Span
from oreqa.corpus.rows import row_cells
from oreqa.corpus.splitter import passage_head, sentence_at
from oreqa.datasets.pairs import Candidate, sentence_candidate
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Fitted
from oreqa.models.folders import CLASSIFIER
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
    ``reranker``, if any: a span re-ranker (RECONSIDER, Iyer et al. 2021) or a classifier. The weights are those fitted for
    the models unless a ``combination`` is given.
    """
    weights = combination or combination_of(reader, reranker)
    answers: list[list[ScoredSpan]] = []
    for begin in range(0, len(questions), CHUNK):
        part = slice(begin, begin + CHUNK)
        spans = read_spans(reader, questions[part], passages[part])
        ranked = [merge_equal_spans(*of_question, weights) for of_question in zip(spans, retrieval[part], strict=True)]
        if reranker is not None:
            best = [[answer.span for answer in of_question[: weights.reranked]] for of_question in ranked]
            scores = rerank_spans(reranker, questions[part], passages[part], best)
            kind = reranker.folder.kind
            ranked = [
                add_reranking(*pair, weights, kind) for pair in zip(ranked, map(np.ndarray.tolist, scores), strict=True)
            ]
        answers += ranked
    return answers


def read_spans(reader: Reader, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[Span]]:
    """The reader's ``SPANS_TOP_K`` best spans of each passage, best first; in the row of a table the cells that answer."""
    texts = [[(passage_head(p.title, p.heading), p.text) for p in of_question] for of_question in passages]
    spans = reader.read(questions, texts, SPANS_TOP_K)
    return [
        [_answering_cell(span, read[span.passage_number].text, question) for span in of_question]
        for of_question, read, question in zip(spans, passages, questions, strict=True)
    ]


def _answering_cell(span: Span, text: str, question: str) -> Span:
    """The cell that a span begins in, if it begins in the row of a table: of a column's name, its value.

    A question that says which column it asks for, as "which capital" or "what is the capital", is answered by that column's
    cell. A cell that the question names tells which row it asks about, not the answer: then it is the cell of the one column
    that the question names, if there is one.
    """
    cells = row_cells(text, span.start)
    cell = next((value for (begin, _), value in cells if begin <= span.start < value[1]), None)
    if cell is None:
        return span
    asked = _words(question)
    others = [(text[slice(*name)], value) for name, value in cells if not _is_named(text[slice(*value)], asked)]
    wanted = [value for name, value in others if _asks_for(name, question)]
    if not wanted and _is_named(text[slice(*cell)], asked):
        wanted = [value for name, value in others if _has_words(asked, _words(name))]
    start, end = wanted[0] if len(wanted) == 1 else cell
    return replace(span, text=text[start:end], start=start, end=end)


def _is_named(value: str, asked: Sequence[str]) -> bool:
    """Whether a question of these words names a cell: by a number, or by a word of four letters or more."""
    return any(word in asked and (len(word) > 3 or word.isdigit()) for word in _words(value))


def _asks_for(column: str, question: str) -> bool:
    """Whether a question begins, or goes on after a comma, with the word which or what and the name of a column."""
    words = _words(column)
    return bool(words) and any(_words(question[asks.end() :])[: len(words)] == words for asks in _ASKS.finditer(question))


_ASKS = re.compile(r"(?:^|,)\s*(?:which|what)\b(?:\s+(?:is|are|was|were)\b)?(?:\s+the\b)?", re.IGNORECASE)


def _has_words(asked: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a question of words names a column: by all words of its name, or what they begin with, as Tue of Tuesday."""
    return bool(words) and all(any(a == word or (len(word) > 2 and a.startswith(word)) for a in asked) for word in words)


def _words(text: str) -> list[str]:
    """The words of a text without their case, and without a plural's s."""
    return [word.removesuffix("s") if len(word) > 4 else word for word in re.findall(r"[^\W_]+", text.casefold())]


def rerank_spans(
    reranker: CrossEncoder,
    questions: Sequence[str],
    passages: Sequence[Sequence[Passage]],
    spans: Sequence[Sequence[Span]],
) -> list[NDArray[np.float32]]:
    """The cross-encoder's score of each span, ``[spans]`` a question: a re-ranker is shown the span in its passage
    (RECONSIDER), a classifier the sentence that it begins in."""
    show = _sentence_of if reranker.folder.kind == CLASSIFIER else _span_in
    shown = [[show(read[span.passage_number], span) for span in best] for read, best in zip(passages, spans, strict=True)]
    distinct = [list(dict.fromkeys(candidates)) for candidates in shown]  # answers of one sentence are scored once
    scores = reranker.score(questions, distinct)
    return [
        of_question[[places.index(candidate) for candidate in candidates]] if candidates else of_question
        for of_question, places, candidates in zip(scores, distinct, shown, strict=True)
    ]


def _span_in(passage: Passage, span: Span) -> Candidate:
    return Candidate(span.text, passage.text, passage_head(passage.title, passage.heading), span.start)


def _sentence_of(passage: Passage, span: Span) -> Candidate:
    return sentence_candidate(passage, passage.sentences[sentence_at(passage, span.start)])
