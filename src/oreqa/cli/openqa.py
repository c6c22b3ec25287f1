"""``oreqa eval openqa`` and ``oreqa eval answers``: answers, measured."""

from __future__ import annotations

import hashlib
import json
import math
import random
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.evaluate import (
    IndexOption,
    ModelOption,
    OutOption,
    SeedOption,
    evaluate,
    finish,
    load_classifier,
    reranked_settings,
    settings_for,
)
from oreqa.cli.output import (
    ClassifierOption,
    DeviceOption,
    JsonFlag,
    PrecisionOption,
    ReaderOption,
    RerankerOption,
    RerankOption,
    print_json,
    say,
    visible,
)
from oreqa.cli.progress import progress_bar
from oreqa.errors import InputError
from oreqa.files import write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oreqa.answering.answerer import Answerer
    from oreqa.answering.combining import Candidate, Combination
    from oreqa.core import Answer, Hit, Passage
    from oreqa.datasets.questions import OpenQuestion
    from oreqa.evaluation.openqa import Predicted
    from oreqa.index.search import Index
    from oreqa.index.store import Settings


@evaluate.command()
def openqa(
    data: Annotated[Path, typer.Option(help="Questions: SQuAD or MRQA, or rows {question, answers | pattern} (.jsonl).")],
    out: OutOption,
    gold_passages: Annotated[
        bool, typer.Option("--gold-passages", help="Read each question's own paragraph instead of retrieving.")
    ] = False,
    passages: Annotated[int, typer.Option(min=1, max=100, help="How many passages are read for a question.")] = 5,
    reader: ReaderOption = "minilm-reader",
    reranker: RerankerOption = "minilm-reranker",
    rerank: RerankOption = 0,
    classifier: ClassifierOption = "minilm-classifier",
    null: Annotated[
        float | None,
        typer.Option(help="SQuAD 2.0: no answer where the log-odds of the passage's answering are below this."),
    ] = None,
    combine: Annotated[
        list[str] | None, typer.Option(help="A weight of the one score as name=value, as reranking=0.5 or alone=1.")
    ] = None,
    model: ModelOption = None,
    index: IndexOption = None,
    questions: Annotated[int | None, typer.Option(min=1, help="Only so many questions, drawn by the seed.")] = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer questions from all paragraphs: EM, F1, and the accuracy of retrieval.

    Without an index, the paragraphs of the data are the collection. An index of your own is searched with --index; it is
    needed for questions without paragraphs. A list whose rows name a document, or have empty answers where nothing answers,
    is asked as oreqa ask does, which may refuse.

    [bold]oreqa eval openqa --data dev.json --out runs/open[/bold]
    """
    from oreqa.answering.answerer import Answerer, read_answers
    from oreqa.evaluation.asked import as_users_ask
    from oreqa.evaluation.openqa import evaluate_open, reranking_analysis
    from oreqa.files import resume_rows
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
    from oreqa.models.cross_encoder.reranking import rerank_hits
    from oreqa.models.folders import RERANKER
    from oreqa.models.reader.reader import CHUNK, Reader

    if null is not None and not math.isfinite(null):
        raise InputError(f"--null {null}: write a number")
    if null is not None and not gold_passages:
        raise InputError("--null reads each question's own paragraph: add --gold-passages")
    weights = _weights(combine or ())
    settings = settings_for(model)
    asked, own = _questions(data, questions, seed, null is not None)
    if gold_passages and not own:
        raise InputError(f"{data}: its questions have no paragraphs to read; leave --gold-passages out")
    loaded = Reader.load(reader, device)
    comparing = None if reranker == "none" else CrossEncoder.load(reranker, device, kind=RERANKER)
    second = load_classifier(classifier, rerank, device)
    texts = [question.text for question in asked]
    begun = time.monotonic()
    more = {"data": data.name, "reader": reader, "reranker": reranker, "passages": passages, "gold": gold_passages,
            "combination": asdict(weights), "null": null, "seed": seed,
            **reranked_settings(classifier, rerank)}  # fmt: skip
    mode = "reader" if reranker == "none" else "reader + re-ranker"
    if not own and as_users_ask(asked):
        documents = _collection(data, index, out, settings, device)
        answerer = Answerer(documents, loaded, comparing, weights, passages=passages, classifier=second, rerank=rerank)
        _finish_asked(answerer, asked, data, out, settings, begun, mode, more, as_json)
        return
    if gold_passages:
        opened, read = None, [[passage] for passage in own]
        retrieval = [[0.0]] * len(asked)
    else:
        opened = _collection(data, index, out, settings, device)
        hits = opened.search(texts, max(passages, rerank), "hybrid", "passage")
        if second is not None:
            hits = rerank_hits(second, texts, hits, rerank)
        hits = [found[:passages] for found in hits]
        read = [[hit.passage for hit in found] for found in hits]
        retrieval = [[hit.score for hit in found] for found in hits]
    given = [
        texts,
        [[passage.text for passage in own] for own in read],
        retrieval,
        asdict(weights),
        loaded.stamp,
        comparing.stamp if comparing else None,
    ]
    partial, made = out / "reading.jsonl", hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]
    with progress_bar("reading questions", len(asked)) as advance:

        def make(begin: int, end: int) -> list[dict[str, Any]]:
            part = slice(begin, end)
            ranked = read_answers(loaded, comparing, texts[part], read[part], retrieval[part], weights)
            return [_answer_row(own) for own in ranked]

        rows = resume_rows(partial, made, len(asked), CHUNK, make, advance)
    if null is not None:
        rows = [row if row["answers"] and row["passage"] >= null else {**row, "answers": []} for row in rows]
    predicted = [_predicted(*row) for row in zip(rows, read, retrieval, strict=True)]
    results = evaluate_open(asked, predicted)
    extra = {} if reranker == "none" else {"reranking": reranking_analysis(results, weights.reranked)}
    count = opened.counts()["passages"] if opened else len({passage.text for passage in own})
    write_json(out / "predictions.json", {question.id: row.answers[0][0] if row.answers else ""
                                          for question, row in zip(asked, predicted, strict=True)})  # fmt: skip
    finish(out, "openqa", mode, results, count, [data], settings, begun, more, as_json, extra)
    partial.unlink(missing_ok=True)


@evaluate.command()
def answers(
    predictions: Annotated[Path, typer.Option(help="JSON object: question id to answer.")],
    gold: Annotated[Path, typer.Option(help="SQuAD file, 1.1 or 2.0, plain or gzipped.")],
    as_json: JsonFlag = False,
) -> None:
    """Score a predictions file as SQuAD's official scripts do: exact match and F1.

    [bold]oreqa eval answers --predictions predictions.json --gold dev.json[/bold]
    """
    from oreqa.evaluation.answers import score_predictions

    metrics, _ = score_predictions(gold, predictions)
    if as_json:
        print_json(metrics)
        return
    from rich.table import Table

    from oreqa.cli.console import Console

    table = Table(title=f"{visible(predictions.name)}: {metrics['questions']:,} questions", title_justify="left")
    for name in ("questions", "em", "f1"):
        table.add_column(name, justify="right")
    kinds = [("", "questions"), *((f"{kind}_", kind) for kind in ("answerable", "unanswerable") if kind in metrics)]
    for prefix, name in kinds:
        count = f"{metrics[name]:,}" if not prefix else f"{metrics[name]:,} {name}"
        table.add_row(count, *(f"{metrics[prefix + key]:.2f}" for key in ("em", "f1") if prefix + key in metrics))
    Console().print(table)
    if metrics["missing"]:
        say(f"{metrics['missing']:,} questions have no prediction", err=True)


def _weights(changes: Sequence[str]) -> Combination:
    """The shipped combination with some of its weights changed. Raises InputError for one that does not exist."""
    from oreqa.answering.combining import COMBINATION

    known = asdict(COMBINATION)
    for change in changes:
        name, _, text = change.partition("=")
        if name not in known:
            raise InputError(f"--combine {change!r}: the weights are {', '.join(known)}")
        try:
            known[name] = type(known[name])(float(text))
            if not math.isfinite(known[name]):
                raise ValueError
        except (ValueError, OverflowError):
            raise InputError(f"--combine {change!r}: write a number, as in {name}=0.5") from None
    return replace(COMBINATION, **known)


def _questions(data: Path, count: int | None, seed: int, unanswerable: bool) -> tuple[list[OpenQuestion], list[Passage]]:
    """Questions, drawn if there are more than ``count``; and where the data have them, their own passages."""
    from oreqa.evaluation.openqa import load_open_questions

    asked, own = load_open_questions(data, unanswerable=unanswerable)
    if not asked:
        raise InputError(f"{data}: it holds no question with an answer")
    places = list(range(len(asked)))
    if count and count < len(places):
        places = sorted(random.Random(seed).sample(places, count))
    return [asked[i] for i in places], [own[i] for i in places] if own else []


def _collection(data: Path, index: Path | None, out: Path, settings: Settings, device: str) -> Index:
    """The paragraphs of the data as an index; or, for questions without paragraphs, the user's."""
    from oreqa.datasets.questions import is_question_list
    from oreqa.datasets.reqa import load_paragraphs
    from oreqa.evaluation.corpora import whole_passages
    from oreqa.index.passages import index_passages
    from oreqa.index.search import Index

    if is_question_list(data):
        if index is None:
            raise InputError(f"{data}: its questions have no paragraphs; name the index to search with --index")
        return Index.open(index, device)
    passages = whole_passages(load_paragraphs(data), settings.language)
    with progress_bar("encoding passages", len(passages)) as advance:
        return index_passages(index or out / "index", passages, settings, device, advance)


def _finish_asked(
    answerer: Answerer,
    asked: Sequence[OpenQuestion],
    data: Path,
    out: Path,
    settings: Settings,
    begun: float,
    mode: str,
    more: dict[str, Any],
    as_json: bool,
) -> None:
    """Ask the questions as `oreqa ask` does, with its threshold, and write the run."""
    from oreqa.evaluation.asked import ask_questions, asked_metrics, evaluate_asked, grouped_metrics

    def ask(texts: Sequence[str]) -> list[tuple[Sequence[Answer], Sequence[Hit]]]:
        return [(reply.answers, reply.hits) for reply in answerer.reply(texts)]

    index, reader = answerer.index, answerer.reader
    stamps = [model.stamp if model else None for model in (reader, answerer.reranker)]
    given = [[question.text for question in asked], index.content_stamp, *stamps, more]
    partial, stamp = out / "asking.jsonl", hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]
    with progress_bar("asking questions", len(asked)) as advance:
        predicted = ask_questions(asked, ask, partial, stamp, advance)
    results = evaluate_asked(asked, predicted)
    extra = {**asked_metrics(asked, results), "by": grouped_metrics(asked, results)}
    more = {**more, "threshold": answerer.calibration.threshold}
    write_json(out / "predictions.json", {question.id: row.answers[0][0] if row.answers else ""
                                          for question, row in zip(asked, predicted, strict=True)})  # fmt: skip
    count = index.counts()["passages"]
    finish(out, "openqa", f"asked, {mode}", results, count, [data], settings, begun, more, as_json, extra)
    partial.unlink(missing_ok=True)


def _answer_row(ranked: Sequence[Candidate]) -> dict[str, Any]:
    """What is kept of a question: the best answers, the first one before re-ranking, and the best one's passage logit."""
    before = max(ranked, key=lambda one: one.parts.get("merged", one.score)).span.text if ranked else ""
    best = [[one.span.text, one.score] for one in ranked[:10]]
    return {"answers": best, "before": before, "passage": ranked[0].parts["passage"] if ranked else None}


def _predicted(row: dict[str, Any], read: Sequence[Passage], retrieval: Sequence[float]) -> Predicted:
    from oreqa.evaluation.openqa import Predicted

    passages = [(passage.document_key, passage.text, score) for passage, score in zip(read, retrieval, strict=True)]
    return Predicted([(text, score) for text, score in row["answers"]], row["before"], passages)
