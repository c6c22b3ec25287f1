"""Answers all questions of a file, from passages or like ``oreqa ask``, and scores the answers and their confidence;
unfinished work resumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.answering.answerer import Answerer
from oreqa.answering.combining import Combination, ScoredSpan
from oreqa.answering.reading import read_answers
from oreqa.answering.reranking import reranked_hits
from oreqa.core import Mode, Passage
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.figures import trust_figure
from oreqa.evaluation.frame import Evaluation
from oreqa.evaluation.metrics import calibration, calibration_error, roc_area
from oreqa.evaluation.open_scores import (
    ANSWER_CUTOFFS,
    JUDGED_PASSAGES,
    Prediction,
    grouped_metrics,
    refusal_metrics,
    reranking_analysis,
    retrieval_accuracy,
    score_open,
    score_predictions,
    score_replies,
)
from oreqa.evaluation.runs import QuestionResult
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.reader import CHUNK, Reader
from oreqa.progress import Progress, show

_ASKED_TOGETHER = 8
_ANSWERS_KEPT = max(ANSWER_CUTOFFS)
_NOTHING: dict[str, Any] = {"answers": [], "before": ""}
"""The row of a refused question: re-ranking does not change it, as its passage is the only one."""


@dataclass(frozen=True, slots=True)
class ScoredPredictions:
    """The predictions of all questions with their scores, the run's other metrics, and a figure for its report."""

    predictions: Sequence[Prediction]
    results: Sequence[QuestionResult]
    metrics: Mapping[str, Any]
    figure: tuple[str, str] | None = None

    @property
    def first_answers(self) -> list[str]:
        """Return the first answer to each question, "" if refused."""
        return [prediction.answers[0][0] if prediction.answers else "" for prediction in self.predictions]


def search_passages(answerer: Answerer, questions: Sequence[str], mode: Mode) -> list[list[tuple[Passage, float]]]:
    """Return the best passages of the collection with their scores, re-ranked if there is a re-ranker of hits."""
    rankings = answerer.index.search(questions, max(answerer.passages, answerer.rerank_hits), mode=mode, unit="passage")
    if answerer.hit_reranker is not None:
        rankings = reranked_hits(answerer.hit_reranker, questions, rankings, answerer.rerank_hits)
    return [[(hit.passage, hit.score) for hit in hits[: answerer.passages]] for hits in rankings]


def answer_from_passages(
    run: Evaluation,
    reader: Reader,
    span_reranker: CrossEncoder | None,
    weights: Combination,
    questions: Sequence[OpenQuestion],
    evidence: Sequence[Sequence[tuple[Passage, float]]],
    null: float | None,
    precision: Mapping[str, str],
    progress: Progress,
) -> ScoredPredictions:
    """Return the best answers in each question's passages; with ``null``, none if the passage's log-odds are below it."""
    texts = [question.text for question in questions]
    passages = [[passage for passage, _ in question_evidence] for question_evidence in evidence]
    scores = [[score for _, score in question_evidence] for question_evidence in evidence]

    def read(begin: int, end: int) -> list[dict[str, Any]]:
        part = slice(begin, end)
        ranked = read_answers(reader, span_reranker, texts[part], passages[part], scores[part], weights)
        return [_answer_row(candidates) for candidates in ranked]

    decisive = [
        texts,
        [[(passage_head(p.title, p.heading), p.text) for p in question_passages] for question_passages in passages],
        scores,
        asdict(weights),
        reader.fingerprint,
        span_reranker.fingerprint if span_reranker else None,
        dict(precision),
    ]
    with show(progress, "reading questions", len(questions)) as advance:
        rows = run.resume("reading.jsonl", decisive, len(questions), CHUNK, read, advance)
    if null is not None:
        rows = [row if row["answers"] and row["passage_logit"] >= null else {**row, **_NOTHING} for row in rows]
    predictions = []
    for row, question_evidence in zip(rows, evidence, strict=True):
        retrieved = [(passage.document_key, passage.text, score) for passage, score in question_evidence]
        predictions.append(Prediction([(text, score) for text, score in row["answers"]], row["before"], retrieved))
    results = score_predictions(questions, predictions)
    metrics: dict[str, Any] = {} if null is None else dict(retrieval_accuracy(questions, predictions))
    if span_reranker is not None:
        answerable = [result for question, result in zip(questions, results, strict=True) if question.is_answerable]
        metrics["reranking"] = reranking_analysis(answerable, weights.rerank_spans)
    return ScoredPredictions(predictions, results, metrics)


def _answer_row(ranked: Sequence[ScoredSpan]) -> dict[str, Any]:
    """Return a question's stored row: the best answers, the first before re-ranking, and the best one's passage logit."""
    if not ranked:
        return {**_NOTHING, "passage_logit": None}
    before = max(ranked, key=lambda candidate: candidate.scores.get("before_span_reranker", candidate.score))
    best = [[candidate.span.text, candidate.score] for candidate in ranked[:_ANSWERS_KEPT]]
    return {"answers": best, "before": before.span.text, "passage_logit": ranked[0].scores["passage_logit"]}


def ask_questions(
    run: Evaluation, answerer: Answerer, questions: Sequence[OpenQuestion], settings: Mapping[str, Any], progress: Progress
) -> ScoredPredictions:
    """Return the answers to each question, none if refused, and the passages that they come from, best first."""
    texts = [question.text for question in questions]

    def ask(begin: int, end: int) -> list[dict[str, Any]]:
        return [
            {
                "answers": [[answer.text, answer.score] for answer in reply.answers],
                "passages": [
                    [hit.passage.document_key, hit.passage.text, hit.score] for hit in reply.hits[:JUDGED_PASSAGES]
                ],
                "best": [reply.best.text, reply.best.confidence] if reply.best else None,
            }
            for reply in answerer.reply(texts[begin:end])
        ]

    models = (answerer.reader, answerer.span_reranker, answerer.passage_reranker, answerer.hit_reranker)
    fingerprints = [model.fingerprint if model else None for model in models]
    index = answerer.index
    calibration = asdict(answerer.calibration) if answerer.calibration else None
    weights = dict(index.weights("passage"))
    decisive = [texts, index.content_fingerprint, index.fingerprint, weights, calibration, *fingerprints, dict(settings)]
    with show(progress, "asking questions", len(questions)) as advance:
        rows = run.resume("asking.jsonl", decisive, len(questions), _ASKED_TOGETHER, ask, advance)
    predictions = [
        Prediction(
            [(text, score) for text, score in row["answers"]],
            "",
            [tuple(passage) for passage in row["passages"]],
            row["best"] and tuple(row["best"]),
        )
        for row in rows
    ]
    results = score_replies(questions, predictions)
    metrics: dict[str, Any] = {**refusal_metrics(questions, results), "by": grouped_metrics(questions, results)}
    judged = judge(questions, predictions)
    if judged is None:
        return ScoredPredictions(predictions, results, metrics)
    return ScoredPredictions(predictions, results, metrics | trust_metrics(judged), trust_section(judged))


RIGHT_F1 = 0.5
"""The F1 from which an answer counts as right, as in fitting the confidence: its ends may differ from the accepted ones."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The best answers of all questions, ``[questions]`` each.

    They have their ``confidence``, 0 if there was nothing to answer with, whether they are ``right``, and whether the
    question is ``answerable``.
    """

    confidence: NDArray[np.float64]
    right: NDArray[np.bool_]
    answerable: NDArray[np.bool_]


def judge(questions: Sequence[OpenQuestion], predictions: Sequence[Prediction]) -> Judged | None:
    """Judge the best answers, including refused ones; return None if there is no answer or one lacks a confidence."""
    best = [prediction.best or ("", 0.0) for prediction in predictions]
    answerable = [question.is_answerable for question in questions]
    right = [
        has_answer and score_open(question, text).f1 >= RIGHT_F1
        for question, has_answer, (text, _) in zip(questions, answerable, best, strict=True)
    ]
    confidences = [confidence for _, confidence in best if confidence is not None]
    if not any(prediction.best for prediction in predictions) or len(confidences) < len(best):
        return None
    return Judged(np.array(confidences, np.float64), np.array(right), np.array(answerable))


def trust_metrics(judged: Judged) -> dict[str, float]:
    """Return ``auc_answerable``, ``auc_right`` and ``ece`` in percent, omitting those with only one class.

    ``auc_answerable`` is how often the confidence is higher for an answerable question than for an unanswerable one;
    ``auc_right`` is the same for right answers and all others.
    """
    metrics = {}
    for name, labels in (("auc_answerable", judged.answerable), ("auc_right", judged.right)):
        if 0 < labels.sum() < len(labels):
            metrics[name] = roc_area(judged.confidence, labels)
    metrics["ece"] = calibration_error(judged.confidence, judged.right)
    return {name: round(100 * value, 2) for name, value in metrics.items()}


def risk_coverage(judged: Judged) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of questions answered, from the most confident answer on, and the share of wrong answers among them.

    Answers with equal confidence are given together.
    """
    order = np.argsort(-judged.confidence, kind="stable")
    ends = np.r_[np.flatnonzero(np.diff(judged.confidence[order])), len(order) - 1]
    counts = ends + 1
    wrong = np.cumsum(~judged.right[order])[ends]
    return counts / len(order), wrong / counts


def trust_section(judged: Judged) -> tuple[str, str]:
    """Return heading and SVG for a report."""
    title = (
        "Answers that are right (F1 of 0.5 or more) by their confidence, and wrong ones by the share of questions answered"
    )
    return title, trust_figure(calibration(judged.confidence, judged.right), *risk_coverage(judged))
