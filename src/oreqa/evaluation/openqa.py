"""``oreqa eval openqa``: questions answered from a collection, from their own paragraphs, or as ``oreqa ask`` does."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oreqa.answering.answerer import Answerer
from oreqa.answering.combining import Combination, ScoredSpan
from oreqa.answering.reading import combination_of, read_answers
from oreqa.answering.reranking import load_hit_reranker, reranked_hits
from oreqa.arguments import count, is_number
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.load import QuestionFile, load_question_file
from oreqa.datasets.paragraphs import whole_passages
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER
from oreqa.errors import InputError
from oreqa.evaluation.open_scores import (
    Prediction,
    reranking_analysis,
    retrieval_accuracy,
    score_predictions,
)
from oreqa.evaluation.refusals import (
    DEPTH,
    check_documents,
    expect_refusals,
    grouped_metrics,
    refusal_metrics,
    score_replies,
)
from oreqa.evaluation.retrieval import reranking_settings
from oreqa.evaluation.trust import judge, trust_metrics, trust_section
from oreqa.evaluation.weights import check_weights_are_used, weight_changes
from oreqa.evaluation.write import EvalRun, run_folder, write_run
from oreqa.files import resume_rows, write_json
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.graph.precision import used_precision
from oreqa.models.reader.reader import CHUNK, Reader
from oreqa.progress import Advance, Progress, no_progress, show
from oreqa.provenance import fingerprint

PASSAGES = 5
"""Passages read for each question."""
_ASKED_TOGETHER = 8
_ANSWERS_KEPT = 10
_NOTHING: dict[str, Any] = {"answers": [], "before": ""}
"""The row of a question that is refused: re-ranking changes nothing about it, as its passage is the only one."""


@dataclass(frozen=True, slots=True)
class _Models:
    """What answers: the reader, the span re-ranker and the classifier, and how they are used."""

    reader: Reader
    span_reranker: CrossEncoder | None
    hit_reranker: CrossEncoder | None
    rerank_hits: int
    passages: int
    weights: Combination


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The passages that are read for each question, with the retriever's scores."""

    passages: list[list[Passage]]
    scores: list[list[float]]


def evaluate_openqa(
    data: str | Path,
    out: str | Path,
    *,
    gold_passages: bool = False,
    passages: int = PASSAGES,
    reader: str | Path = DEFAULT_READER,
    span_reranker: str | Path | None = None,
    rerank_hits: int = 0,
    hit_reranker: str | Path = DEFAULT_CLASSIFIER,
    null: float | None = None,
    combine: Mapping[str, float] | Iterable[tuple[str, float]] | None = None,
    model: str | Path = DEFAULT_ENCODER,
    index: str | Path | None = None,
    draw: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Answer questions from all paragraphs of a SQuAD or MRQA file, or from an index: EM, F1, accuracy of retrieval.

    The paragraphs' index is kept in the folder ``index``, else in ``out/index``. A list of questions without paragraphs
    needs an index of documents. If there are questions without an answer, or rows that name a document, questions are asked
    as Answerer.ask does, which may refuse, and the confidence is measured, too. ``gold_passages`` reads each question's own
    paragraph instead; then ``null`` keeps SQuAD 2.0's unanswerable questions and refuses where the log-odds of the passage's
    answering are below it.

    ``passages`` are read for each question, of which the ``hit_reranker`` may re-rank the ``rerank_hits`` best before; a
    ``span_reranker`` of None leaves the reader's spans in their order. ``combine`` changes weights of the one score, as
    ``{"reranking": 0.5}``. ``draw`` questions are drawn by ``seed``.

    Writes the run's files and predictions.json to ``out`` and returns what metrics.json holds, metrics in percent. Answers
    are kept in ``out`` as they come: an interrupted run resumes when it is started again. Raises InputError for data that
    cannot be read, arguments that do not fit together, and an ``out`` that holds a finished run, a model or an index,
    ModelError for a model that cannot be loaded.
    """
    data, out = Path(data), run_folder(out)
    passages, rerank_hits = count(passages, "passages"), count(rerank_hits, "rerank_hits", 0)
    draw = None if draw is None else count(draw, "draw")
    if null is not None:
        if not is_number(null):
            raise InputError(f"null is {null!r}; write a number")
        null = float(null)
    if null is not None and not gold_passages:
        raise InputError("null needs gold passages: it judges each question's own paragraph")
    changes = weight_changes({} if combine is None else combine)
    settings = Settings(model=str(model))
    source = load_question_file(data)
    drawn, places, refuses = _draw_questions(source, data, draw, seed, null is not None or not gold_passages)
    if gold_passages and not places:
        raise InputError(f"{data}: its questions have no paragraphs to read as gold passages; search an index instead")
    if gold_passages and (index is not None or rerank_hits):
        raise InputError("gold passages are read without a search: leave index and rerank_hits out")
    if gold_passages and (passages != PASSAGES or str(model) != DEFAULT_ENCODER):
        raise InputError("gold passages are one a question, and no encoder searches them: leave passages and model out")
    passages_of_data = whole_passages(source.paragraphs, settings.language)
    own_passages = [passages_of_data[place] for place in places]
    check_weights_are_used(changes, gold_passages, span_reranker is None)
    loaded = Reader(reader, device=device)
    loaded_reranker = None if span_reranker is None else CrossEncoder(span_reranker, device=device)
    weights = replace(combination_of(loaded, loaded_reranker), **changes)
    scorer = load_hit_reranker(hit_reranker, rerank_hits, device)
    models = _Models(loaded, loaded_reranker, scorer, rerank_hits, passages, weights)
    begin = time.monotonic()
    collection = None if gold_passages else _open_collection(data, passages_of_data, index, out, settings, device, progress)
    if collection is not None:
        settings = collection.settings
        if str(model) not in (DEFAULT_ENCODER, settings.model):
            raise InputError(f"{index}: it was made with the encoder {settings.model}; leave model out")
    families = {"encoder": collection, "reader": reader, "reranker": span_reranker, "classifier": rerank_hits or None}
    of_run = {
        "data": data.name,
        "reader": str(reader),
        "reranker": "none" if span_reranker is None else str(span_reranker),
        "passages": passages,
        "gold": gold_passages,
        "combination": asdict(weights),
        "null": null,
        "seed": seed,
        **reranking_settings(hit_reranker, rerank_hits),
        "precision": used_precision(device, *(name for name, used in families.items() if used is not None)),
    }
    mode = "reader" if span_reranker is None else "reader + re-ranker"
    metrics: dict[str, Any]
    figure = None
    if collection is not None and refuses:
        mode = f"asked, {mode}"
        check_documents(drawn, (passage.document_key for passage in collection.passages()), data)
        answerer = Answerer(
            collection,
            models.reader,
            models.span_reranker,
            weights,
            passages=passages,
            hit_reranker=models.hit_reranker,
            rerank_hits=rerank_hits,
        )
        of_run["threshold"] = answerer.calibration.threshold if answerer.calibration else None
        partial = out / "asking.jsonl"
        with show(progress, "asking questions", len(drawn)) as advance:
            predictions = _ask(answerer, drawn, partial, of_run, advance)
        results = score_replies(drawn, predictions)
        metrics = {**refusal_metrics(drawn, results), "by": grouped_metrics(drawn, results)}
        if judged := judge(drawn, predictions):
            metrics |= trust_metrics(judged)
            figure = trust_section(judged)
    else:
        texts = [question.text for question in drawn]
        evidence = _retrieve(collection, texts, models) if collection else _own_paragraphs(own_passages)
        partial = out / "reading.jsonl"
        with show(progress, "reading questions", len(drawn)) as advance:
            predictions = _read(models, texts, evidence, partial, null, of_run["precision"], advance)
        results = score_predictions(drawn, predictions)
        metrics = {} if null is None else dict(retrieval_accuracy(drawn, predictions))
        if span_reranker is not None:
            answerable = [result for question, result in zip(drawn, results, strict=True) if question.is_answerable]
            metrics["reranking"] = reranking_analysis(answerable, weights.rerank_spans)
    first_answers = {
        question.id: prediction.answers[0][0] if prediction.answers else ""
        for question, prediction in zip(drawn, predictions, strict=True)
    }
    write_json(out / "predictions.json", first_answers)
    run = EvalRun(
        task="openqa",
        mode=mode,
        results=results,
        candidates=collection.counts()["passages"] if collection else len({passage.text for passage in own_passages}),
        data=[data],
        model=settings.model,
        settings={**asdict(settings), **of_run},
        seconds=time.monotonic() - begin,
        metrics=metrics,
        figure=figure,
    )
    summary = write_run(out, run)
    partial.unlink(missing_ok=True)
    return summary


def _draw_questions(
    source: QuestionFile, data: Path, number: int | None, seed: int, unanswerable: bool
) -> tuple[list[OpenQuestion], list[int], bool]:
    """Questions, drawn if there are more than ``number``; where the data have them, the places of their own paragraphs; and
    whether any question of the data, drawn or not, tells what should be refused.

    Paragraphs' questions without an answer are left out unless they are ``unanswerable``.
    """
    is_list = not source.paragraphs
    kept = [n for n, question in enumerate(source.questions) if is_list or unanswerable or question.is_answerable]
    if not kept:
        raise InputError(f"{data}: it holds no question with an answer")
    refuses = expect_refusals([source.questions[n] for n in kept])
    if number is not None and number < len(kept):
        kept = [kept[place] for place in sorted(random.Random(seed).sample(range(len(kept)), number))]
    return [source.questions[n] for n in kept], [] if is_list else [source.places[n] for n in kept], refuses


def _open_collection(
    data: Path,
    passages: Sequence[Passage],
    index: str | Path | None,
    out: Path,
    settings: Settings,
    device: str,
    progress: Progress,
) -> Index:
    if not passages:
        if index is None:
            raise InputError(f"{data}: its questions have no paragraphs; name the index to search")
        return Index.open(index, device)
    return index_passages(Path(index) if index else out / "index", passages, settings, device, progress)


def _retrieve(index: Index, questions: Sequence[str], models: _Models) -> _Evidence:
    """The best passages of the collection, re-ranked by the classifier if there is one."""
    hits = index.search(questions, max(models.passages, models.rerank_hits), "hybrid", "passage")
    if models.hit_reranker is not None:
        hits = reranked_hits(models.hit_reranker, questions, hits, models.rerank_hits)
    hits = [of_question[: models.passages] for of_question in hits]
    return _Evidence(
        [[hit.passage for hit in of_question] for of_question in hits],
        [[hit.score for hit in of_question] for of_question in hits],
    )


def _own_paragraphs(passages: Sequence[Passage]) -> _Evidence:
    return _Evidence([[passage] for passage in passages], [[0.0] for _ in passages])


def _read(
    models: _Models,
    questions: Sequence[str],
    evidence: _Evidence,
    partial: Path,
    null: float | None,
    precision: Mapping[str, str],
    advance: Advance,
) -> list[Prediction]:
    """The best answers in each question's passages; with ``null`` none where the passage's log-odds are below it."""

    def read(begin: int, end: int) -> list[dict[str, Any]]:
        part = slice(begin, end)
        passages, scores = evidence.passages[part], evidence.scores[part]
        ranked = read_answers(models.reader, models.span_reranker, questions[part], passages, scores, models.weights)
        return [_answer_row(candidates) for candidates in ranked]

    decisive = [
        list(questions),
        [[(passage_head(p.title, p.heading), p.text) for p in of_question] for of_question in evidence.passages],
        evidence.scores,
        asdict(models.weights),
        models.reader.fingerprint,
        models.span_reranker.fingerprint if models.span_reranker else None,
        dict(precision),
    ]
    rows = resume_rows(partial, fingerprint(decisive), len(questions), CHUNK, read, advance)
    if null is not None:
        rows = [row if row["answers"] and row["passage_logit"] >= null else {**row, **_NOTHING} for row in rows]
    predictions = []
    for row, passages, scores in zip(rows, evidence.passages, evidence.scores, strict=True):
        retrieved = [(passage.document_key, passage.text, score) for passage, score in zip(passages, scores, strict=True)]
        predictions.append(Prediction([(text, score) for text, score in row["answers"]], row["before"], retrieved))
    return predictions


def _answer_row(ranked: Sequence[ScoredSpan]) -> dict[str, Any]:
    """What is kept of a question: the best answers, the first one before re-ranking, and the best one's passage logit."""
    if not ranked:
        return {**_NOTHING, "passage_logit": None}
    before = max(ranked, key=lambda candidate: candidate.scores.get("before_span_reranker", candidate.score))
    best = [[candidate.span.text, candidate.score] for candidate in ranked[:_ANSWERS_KEPT]]
    return {"answers": best, "before": before.span.text, "passage_logit": ranked[0].scores["passage_logit"]}


def _ask(
    answerer: Answerer,
    questions: Sequence[OpenQuestion],
    partial: Path,
    settings: Mapping[str, Any],
    advance: Advance,
) -> list[Prediction]:
    """The answers to each question, none if it is refused, and the passages that they come from, best first."""
    texts = [question.text for question in questions]

    def ask(begin: int, end: int) -> list[dict[str, Any]]:
        return [
            {
                "answers": [[answer.text, answer.score] for answer in reply.answers],
                "passages": [[hit.passage.document_key, hit.passage.text, hit.score] for hit in reply.hits[:DEPTH]],
                "best": [reply.best.text, reply.best.confidence] if reply.best else None,
            }
            for reply in answerer.reply(texts[begin:end])
        ]

    models = (answerer.reader, answerer.span_reranker, answerer.hit_reranker)
    fingerprints = [model.fingerprint if model else None for model in models]
    index = answerer.index
    calibration = asdict(answerer.calibration) if answerer.calibration else None
    weights = dict(index.weights("passage"))
    decisive = [texts, index.content_stamp, index.fingerprint, weights, calibration, *fingerprints, dict(settings)]
    return [
        Prediction(
            [(text, score) for text, score in row["answers"]],
            "",
            [tuple(passage) for passage in row["passages"]],
            row["best"] and tuple(row["best"]),
        )
        for row in resume_rows(partial, fingerprint(decisive), len(texts), _ASKED_TOGETHER, ask, advance)
    ]
