"""``oreqa eval openqa``: answers questions from a collection, from their own paragraphs, or like ``oreqa ask``."""

from __future__ import annotations

import random
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from oreqa.answering.answerer import PASSAGES_TOP_K, Answerer
from oreqa.answering.choices import chosen_reranking, passage_reranker_of
from oreqa.answering.combining import Combination
from oreqa.answering.reading import combination_of
from oreqa.answering.reranking import load_hit_reranker
from oreqa.arguments import choice, count, is_number, kind_of
from oreqa.core import MODES, Mode, Passage
from oreqa.datasets.load import QuestionFile, load_question_file
from oreqa.datasets.paragraphs import whole_passages
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_ENCODER, DEFAULT_READER
from oreqa.errors import InputError
from oreqa.evaluation.frame import Evaluation
from oreqa.evaluation.open_answers import answer_from_passages, ask_questions, search_passages
from oreqa.evaluation.open_scores import (
    check_documents,
    expect_refusals,
)
from oreqa.evaluation.retrieval import reranking_settings
from oreqa.files import write_json
from oreqa.index.passages import contains_documents, index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.graph.precision import used_precision
from oreqa.models.reader.reader import Reader
from oreqa.models.stored import is_same_model
from oreqa.paths import default_index
from oreqa.progress import Progress, no_progress


def evaluate_openqa(
    data: str | Path,
    out: str | Path,
    *,
    gold_passages: bool = False,
    passages: int = PASSAGES_TOP_K,
    mode: Mode = "hybrid",
    reader: str | Path = DEFAULT_READER,
    span_reranker: str | Path | None = None,
    rerank_hits: int | None = None,
    hit_reranker: str | Path | None = None,
    null: float | None = None,
    combine: Mapping[str, float] | Iterable[tuple[str, float]] | None = None,
    model: str | Path = DEFAULT_ENCODER,
    index: str | Path | None = None,
    draw: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Answer questions from all paragraphs of a SQuAD or MRQA file, or from an index: EM, F1, retrieval accuracy.

    The paragraphs' index is kept in the folder ``index``, else in ``out/index``. A question list without paragraphs
    needs an index of documents, by default $OREQA_INDEX or .oreqa. If some questions have no answer, or rows name a
    document, questions are asked like Answerer.ask, which may refuse, and the confidence is measured, too.
    ``gold_passages`` reads each question's own paragraph instead; then ``null`` keeps SQuAD 2.0's unanswerable questions
    and refuses if the log-odds that the passage answers are below it.

    ``passages`` are read for each question, the best by ``mode``; a ``hit_reranker`` may first re-rank the
    ``rerank_hits`` best. A ``span_reranker`` of None keeps the order of the reader's spans. ``combine`` changes weights
    of the combined score, e.g. ``{"reranking": 0.5}``. ``draw`` questions are drawn by ``seed``.

    Writes the run's files and predictions.json to ``out`` and returns the content of metrics.json, metrics in percent.
    Answers are stored in ``out`` as they come: an interrupted run resumes when it is started again. Raises InputError
    for data that cannot be read, conflicting arguments, and an ``out`` with a finished run, a model or an index,
    ModelError for a model that cannot be loaded.
    """
    choice(mode, MODES, "mode")
    passages, (hit_reranker, rerank_hits) = count(passages, "passages"), chosen_reranking(hit_reranker, rerank_hits)
    data, draw = Path(data), None if draw is None else count(draw, "draw")
    run = Evaluation("openqa", [data], out)
    null, changes = _threshold(null, gold_passages), weight_changes({} if combine is None else combine)
    settings, source = Settings(model=str(model)), load_question_file(data)
    if gold_passages:
        _check_gold_passages(source, data, index, rerank_hits, passages, mode, model)
    _check_weights_are_used(changes, gold_passages, span_reranker is None)
    drawn, places, refuses = _draw_questions(source, data, draw, seed, null is not None or not gold_passages)
    if refuses and mode != "hybrid":
        raise InputError(f"{data}: its questions are answered as `oreqa ask` does, by the hybrid search: leave mode out")
    data_passages = whole_passages(source.paragraphs, settings.language)
    models = Reader(reader, device=device), None if span_reranker is None else CrossEncoder(span_reranker, device=device)
    weights = replace(combination_of(*models), **changes)
    scorer = load_hit_reranker(hit_reranker, device)
    run.start()
    answerer = None
    if not gold_passages:
        opened = _open_collection(data, data_passages, index, run.out, settings, device, progress)
        settings, weights = opened.settings, replace(Answerer(opened, *models).combination, **changes)
        answerer = Answerer(
            opened, *models, hit_reranker=scorer, rerank_hits=rerank_hits, combination=weights, passages=passages
        )
    families = {"encoder": answerer, "reader": reader, "reranker": span_reranker, "classifier": hit_reranker}
    run_settings = {
        "data": data.name,
        "reader": str(reader),
        "reranker": "none" if span_reranker is None else str(span_reranker),
        "passages": passages,
        "search": mode,
        "gold": gold_passages,
        "combination": asdict(weights),
        "null": null,
        "seed": seed,
        **reranking_settings(hit_reranker, rerank_hits),
        "precision": used_precision(device, *(name for name, used in families.items() if used is not None)),
    }
    stages = "reader" if span_reranker is None else "reader + re-ranker"
    if answerer is not None and refuses:
        stages = f"asked, {stages}"
        check_documents(drawn, (passage.document_key for passage in answerer.index.passages()), data)
        run_settings |= _set_passage_reranker(answerer, reader, device)
        scored = ask_questions(run, answerer, drawn, run_settings, progress)
    else:
        texts = [question.text for question in drawn]
        gold_evidence = [[(data_passages[place], 0.0)] for place in places]
        evidence = gold_evidence if answerer is None else search_passages(answerer, texts, mode)
        scored = answer_from_passages(run, *models, weights, drawn, evidence, null, run_settings["precision"], progress)
    write_json(run.out / "predictions.json", {q.id: text for q, text in zip(drawn, scored.first_answers, strict=True)})
    candidates = answerer.index.counts()["passages"] if answerer else len({data_passages[place].text for place in places})
    return run.write(
        scored.results,
        stages if mode == "hybrid" else f"{mode}, {stages}",
        settings.model,
        {**asdict(settings), **run_settings},
        candidates=candidates,
        metrics=scored.metrics,
        figure=scored.figure,
    )


def _set_passage_reranker(answerer: Answerer, reader: str | Path, device: str) -> dict[str, Any]:
    """Let an answerer re-rank passages as ``oreqa ask`` does for the ``reader``, and return the run's settings of asking."""
    small = passage_reranker_of(reader)
    answerer.passage_reranker = Reader(small, device=device) if small else None
    threshold = answerer.calibration.threshold if answerer.calibration else None
    return {"passage_reranker": small or "none", "threshold": threshold}


def _threshold(null: float | None, gold_passages: bool) -> float | None:
    if null is None:
        return None
    if not is_number(null):
        raise InputError(f"null is {null!r}; write a number")
    if not gold_passages:
        raise InputError("null needs gold passages: it judges each question's own paragraph")
    return float(null)


def _check_gold_passages(
    source: QuestionFile,
    data: Path,
    index: str | Path | None,
    rerank_hits: int,
    passages: int,
    mode: Mode,
    model: str | Path,
) -> None:
    """Raise InputError for data without paragraphs, and for arguments that would be ignored when reading them."""
    if not source.paragraphs:
        raise InputError(f"{data}: its questions have no paragraphs to read as gold passages; search an index instead")
    if index is not None or rerank_hits or mode != "hybrid":
        raise InputError("gold passages are read without a search: leave index, mode and rerank_hits out")
    if passages != PASSAGES_TOP_K or str(model) != DEFAULT_ENCODER:
        raise InputError("gold passages are one a question, and no encoder searches them: leave passages and model out")


def weight_changes(combine: Mapping[str, float] | Iterable[tuple[str, float]]) -> dict[str, Any]:
    """Return the weights of the combination to change, each in its own type.

    Raises InputError for an unknown weight, or a value of the wrong type.
    """
    try:
        changes = dict(combine)
    except (TypeError, ValueError):
        raise InputError(
            f"combine is a mapping of weights to numbers, such as {{'reranking': 0.5}}, not {kind_of(combine)}"
        ) from None
    plain = asdict(Combination())
    return {name: _weight(name, value, plain) for name, value in changes.items()}


def _weight(name: str, value: object, plain: Mapping[str, Any]) -> float | int | bool:
    if name not in plain:
        raise InputError(f"combine: there is no weight {name!r}: the weights are {', '.join(plain)}")
    if not is_number(value):
        raise InputError(f"combine: {name} is {value!r}; write a number, as in {name}=0.5")
    number = float(value)
    if isinstance(plain[name], bool):
        if number not in (0, 1):
            raise InputError(f"combine: {name} is {value!r}; it is on or off: write 1 or 0")
        return bool(number)
    if isinstance(plain[name], int):
        return count(int(number) if number.is_integer() else value, f"combine: {name}")
    return number


def _check_weights_are_used(changes: Collection[str], gold_passages: bool, without_reranker: bool) -> None:
    """Raise InputError for a weight of a score that is not computed."""
    if without_reranker and (unused := [name for name in ("reranking", "rerank_spans", "alone") if name in changes]):
        raise InputError(f"combine: {', '.join(unused)} would be ignored: there is no span re-ranker")
    if gold_passages and (unused := [name for name in ("selection", "retrieval") if name in changes]):
        raise InputError(f"combine: {', '.join(unused)} would be ignored: gold passages are one a question")


def _draw_questions(
    source: QuestionFile, data: Path, number: int | None, seed: int, unanswerable: bool
) -> tuple[list[OpenQuestion], list[int], bool]:
    """Return questions, drawn if there are more than ``number``, the places of their own paragraphs, and whether to refuse.

    The places are given if the data has them; the last says whether any question of the data, drawn or not, tells what
    should be refused. Paragraphs' questions without an answer are dropped unless they are ``unanswerable``.
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
    """Return the index of the data's passages; for data without any, the named ``index``."""
    if passages and index and contains_documents(Path(index)):
        listed = f"oreqa generate --index {shlex.quote(str(index))} --out questions.jsonl"
        raise InputError(
            f"{index}: it is an index of documents, and questions of {data} are asked of its own paragraphs: "
            f"leave index out, or give a list of questions for it, as of {listed}"
        )
    if passages:
        opened = index_passages(Path(index) if index else out / "index", passages, settings, device, progress)
    elif (index := index or default_index()) is None:
        raise InputError(f"{data}: its questions have no paragraphs; name the index to search")
    else:
        opened = Index.open(index, device)
    if settings.model != DEFAULT_ENCODER and not is_same_model(settings.model, opened.settings.model):
        raise InputError(f"{index}: it was made with the encoder {opened.settings.model}; leave model out")
    return opened
