"""Turns retrieved passages into answers: reads spans, combines their scores, and rescores them with the span re-ranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from oreqa.answer import Answer
from oreqa.answering.block_scores import asks_for_block, heading_cosines, scored_blocks
from oreqa.answering.blocks import with_blocks
from oreqa.answering.cells import with_asked_cells
from oreqa.answering.combining import (
    Combination,
    ScoredSpan,
    add_reranking,
    fitted_calibration,
    fitted_combination,
    merge_equal_spans,
    sentence_features,
    span_features,
)
from oreqa.answering.definitions import definitions_first, entry_text
from oreqa.answering.several import with_several
from oreqa.answering.stated_defaults import as_sentences, with_stated_defaults
from oreqa.answering.versions import COMPARED_ANSWERS, HEAD, Origin, current_first
from oreqa.arrays import Floats
from oreqa.core import Hit, Passage, Range, Span
from oreqa.corpus.splitter import passage_head, sentence_at
from oreqa.datasets.pairs import Candidate, sentence_candidate
from oreqa.index.documents import stored_beginning
from oreqa.index.fitted import IndexFitted
from oreqa.index.snapshot import Snapshot
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.fitted import Calibration, Fitted
from oreqa.models.names import CLASSIFIER
from oreqa.models.reader.blocks import Reading
from oreqa.models.reader.reader import CHUNK, Reader
from oreqa.text.asking import asks_yes_or_no
from oreqa.text.defaults import asks_whether_default, beside_defaults
from oreqa.text.labels import asks_the_same, labels, other_fields, repeats_question, ruled_out, similar_lines
from oreqa.text.queried_entries import other_entries
from oreqa.text.rows import whole_cell

SPANS_TOP_K = 10
"""Spans taken from each passage."""


def combination_of(reader: Reader | None, span_reranker: CrossEncoder | None) -> Combination:
    """Return the answer weights fitted for the models, or the defaults."""
    return fitted_combination(
        reader.folder.fitted if reader else Fitted(), span_reranker.folder.fitted if span_reranker else None
    )


def fitted_pipeline(
    encoder: Fitted,
    index_fitted: IndexFitted,
    fingerprint: str,
    reader: Reader | None,
    span_reranker: CrossEncoder | None,
) -> tuple[Combination, Calibration | None]:
    """Return the weights and the calibration of answers: fitted for these models on the index, else with the models.

    ``encoder`` is what was fitted for the index's encoder, whose ``fingerprint`` is passed, and ``index_fitted`` what was
    fitted on the index (``Index.fitted_of``). What comes with the models is not valid with search weights fitted on the
    index.
    """
    models = [model.fingerprint if model else "" for model in (reader, span_reranker)]
    if fitted := index_fitted.pipelines.get((models[0], models[1])):
        return Combination(**fitted.combination), fitted.calibration
    combination = combination_of(reader, span_reranker)
    if index_fitted.fusion:
        return combination, None
    fitted_with_models = (model.folder.fitted if model else None for model in (reader, span_reranker))
    return combination, fitted_calibration(encoder, fingerprint, *fitted_with_models)


def read_answers(
    reader: Reader,
    span_reranker: CrossEncoder | None,
    questions: Sequence[str],
    passages: Sequence[Sequence[Passage]],
    retrieval: Sequence[Sequence[float]],
    combination: Combination | None = None,
) -> list[list[ScoredSpan]]:
    """Return every answer that the reader finds in the ``passages`` of each question, best first by the combined score.

    ``retrieval`` holds the retriever's score of each passage. The ``span_reranker``, if any, rescores the
    ``combination.rerank_spans`` best; it is a span re-ranker (RECONSIDER, Iyer et al. 2021) or a classifier. Without a
    ``combination``, the weights fitted for the models are used.
    """
    weights = combination or combination_of(reader, span_reranker)
    spans = read_spans(reader, questions, passages)
    return rank_answers(spans, span_reranker, questions, passages, retrieval, weights)


def rank_answers(
    spans: Sequence[Sequence[Span]],
    span_reranker: CrossEncoder | None,
    questions: Sequence[str],
    passages: Sequence[Sequence[Passage]],
    retrieval: Sequence[Sequence[float]],
    weights: Combination,
) -> list[list[ScoredSpan]]:
    """Like ``read_answers``, for ``spans`` already read."""
    ranked = [merge_equal_spans(*pair, weights) for pair in zip(spans, retrieval, strict=True)]
    if span_reranker is None:
        return ranked
    reranked: list[list[ScoredSpan]] = []
    for begin in range(0, len(questions), CHUNK):
        part = slice(begin, begin + CHUNK)
        best = [[answer.span for answer in answers[: weights.rerank_spans]] for answers in ranked[part]]
        scores = span_scores(span_reranker, questions[part], passages[part], best)
        kind = span_reranker.folder.kind
        pairs = zip(ranked[part], map(np.ndarray.tolist, scores), strict=True)
        reranked += [add_reranking(*pair, weights, kind) for pair in pairs]
    return reranked


def read_spans(reader: Reader, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[list[Span]]:
    """Return the spans of ``read_passages``."""
    return [reading.spans for reading in read_passages(reader, questions, passages)]


def read_passages(reader: Reader, questions: Sequence[str], passages: Sequence[Sequence[Passage]]) -> list[Reading]:
    """Return the reader's ``SPANS_TOP_K`` best spans of each passage, best first, and its token probabilities.

    In a table row, spans are whole cells. Of entries and fields only those that the question names are read, of similar
    lines those with most of its labels. Spans that only repeat the question are dropped.
    """
    texts = [[(passage_head(p.title, p.heading), p.text) for p in question_passages] for question_passages in passages]
    excluded = [_excluded(*pair) for pair in zip(questions, passages, strict=True)]
    readings = reader.readings(questions, texts, SPANS_TOP_K, excluded=excluded)
    answers = []
    for question, reading, read in zip(questions, readings, texts, strict=True):
        cells = [whole_cell(span, read[span.passage_number][1]) for span in reading.spans]
        answers.append(replace(reading, spans=[cell for cell in cells if not repeats_question(question, cell.text)]))
    return answers


def _excluded(question: str, passages: Sequence[Passage]) -> list[list[Range]]:
    """Return each passage's fields and entries that the question does not name, and list lines that its labels rule out."""
    entries = other_entries(question, list(map(entry_text, passages)))
    defaults = [[] for _ in passages] if any(entries) else beside_defaults(question, [p.text for p in passages])
    excluded = [
        [*entry_ranges, *default_ranges, *other_fields(question, passage.text), *repeated_questions(question, passage)]
        for entry_ranges, default_ranges, passage in zip(entries, defaults, passages, strict=True)
    ]
    named = labels(question, [passage_head(passage.title, passage.heading) for passage in passages])
    if not named:
        return excluded
    lines = [(number, *line) for number, passage in enumerate(passages) for line in similar_lines(passage.text)]
    texts = [(passages[number].text, line, lead_in) for number, line, lead_in in lines]
    ruled = ruled_out(named, [f"{text[slice(*lead_in)]} {text[slice(*line)]}" for text, line, lead_in in texts])
    for (number, line, _), out in zip(lines, ruled, strict=True):
        if out:
            excluded[number].append(line)
    return excluded


def repeated_questions(question: str, passage: Passage) -> list[Range]:
    """Return the sentences of a passage that ask the question themselves, as in a list of questions and answers."""
    return [
        (sentence.start - passage.start, sentence.end - passage.start)
        for sentence in passage.sentences
        if asks_the_same(question, sentence.text)
    ]


def span_scores(
    span_reranker: CrossEncoder,
    questions: Sequence[str],
    passages: Sequence[Sequence[Passage]],
    spans: Sequence[Sequence[Span]],
) -> list[Floats]:
    """Return the cross-encoder's score of each span, ``[spans]`` for each question.

    A re-ranker scores the span marked in its passage (RECONSIDER), a classifier the sentence in which it begins.
    """
    show = _sentence_of if span_reranker.folder.kind == CLASSIFIER else _span_in
    shown = [[show(read[span.passage_number], span) for span in best] for read, best in zip(passages, spans, strict=True)]
    distinct = [list(dict.fromkeys(candidates)) for candidates in shown]  # a sentence with several answers is scored once
    scores = span_reranker.score(questions, distinct)
    return [
        question_scores[[places.index(candidate) for candidate in candidates]] if candidates else question_scores
        for question_scores, places, candidates in zip(scores, distinct, shown, strict=True)
    ]


def _span_in(passage: Passage, span: Span) -> Candidate:
    return Candidate(span.text, passage.text, passage_head(passage.title, passage.heading), span.start)


def _sentence_of(passage: Passage, span: Span) -> Candidate:
    return sentence_candidate(passage, passage.sentences[sentence_at(passage, span.start)])


def best_answers(
    reader: Reader | None,
    span_reranker: CrossEncoder | None,
    questions: Sequence[str],
    hits: Sequence[Sequence[Hit]],
    k: int,
    snapshot: Snapshot,
    encoder: Encoder,
    combination: Combination,
    calibration: Calibration | None,
) -> list[list[Answer]]:
    """Return the ``k`` best answers to each question from its hits, found in a ``snapshot`` with an ``encoder``."""
    if reader is None:
        return [sentence_answers(ranking, k, calibration) for ranking in hits]
    passages = [[hit.passage for hit in ranking] for ranking in hits]
    retrieval = [[hit.score for hit in ranking] for ranking in hits]
    readings = read_passages(reader, questions, passages)
    ranked = rank_answers(
        [reading.spans for reading in readings], span_reranker, questions, passages, retrieval, combination
    )
    replies = []
    for question, scored, ranking, reading in zip(questions, ranked, hits, readings, strict=True):
        whole = bool(reading.odds) and asks_for_block(question)
        best = scored
        if whole and ranking:
            headings = heading_cosines(encoder, question, ranking)
            best = scored_blocks(question, scored, ranking, reading.odds, headings, combination)
        compared = span_answers(best, ranking, max(k, COMPARED_ANSWERS), calibration)
        if not whole:
            read = [hit.passage for hit in ranking]
            compared = with_asked_cells(question, compared, read, encoder, calibrated=calibration is not None)
        compared = definitions_first(question, ranking, calibration, compared)
        compared = with_stated_defaults(question, compared, ranking, calibration)
        current = current_first(question, compared, _origins(ranking, snapshot))
        if asks_yes_or_no(question) or asks_whether_default(question):
            answers = as_sentences(current)
        else:
            answers = with_several(question, current, ranking, reading.spans)
        replies.append(with_blocks(answers[:k], ranking, reading.odds, snapshot, "block" if whole else "text"))
    return replies


def _origins(hits: Sequence[Hit], snapshot: Snapshot) -> Callable[[Passage], Origin]:
    """Return a function from a passage among ``hits`` to its origin."""
    ids = {(hit.passage.document_key, hit.passage.start): hit.passage_id for hit in hits}
    return lambda passage: Origin(*stored_beginning(snapshot.select, ids[passage.document_key, passage.start], HEAD))


def sentence_answers(hits: Sequence[Hit], k: int, calibration: Calibration | None) -> list[Answer]:
    """Return the ``k`` best retrieved sentences as answers."""
    answers = []
    for place, hit in enumerate(hits[:k]):
        rival = hits[1 if place == 0 else 0].score if len(hits) > 1 else hit.score
        confidence = calibration.probability(sentence_features(hit, rival)) if calibration else None
        sentence = hit.sentence
        answers.append(
            Answer(sentence.text, sentence.start, sentence.end, confidence, sentence, hit.passage, hit.score, hit.scores)
        )
    return answers


def span_answers(spans: Sequence[ScoredSpan], hits: Sequence[Hit], k: int, calibration: Calibration | None) -> list[Answer]:
    """Return the ``k`` best of the spans read in ``hits``; of overlapping spans only the best."""
    answers: list[Answer] = []
    for scored in spans:
        hit, span = hits[scored.span.passage_number], scored.span
        start, end = hit.passage.start + span.start, hit.passage.start + span.end
        if any(a.passage is hit.passage and a.start < end and start < a.end for a in answers):
            continue
        confidence = calibration.probability(span_features(scored, hits)) if calibration else None
        sentence = hit.passage.sentences[sentence_at(hit.passage, span.start)]
        scores = {**hit.scores, **scored.scores}
        answers.append(Answer(span.text, start, end, confidence, sentence, hit.passage, scored.score, scores))
        if len(answers) == k:
            break
    return answers
