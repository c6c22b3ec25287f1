"""Adapt an index's models to its documents: generate questions, train, measure, and publish what is better."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from oreqa.adaptation.classifier import train_classifier
from oreqa.adaptation.cosines import compare_cosines
from oreqa.adaptation.measuring import answer_questions, classifier_gains, reciprocal_ranks, user_gains
from oreqa.adaptation.questions import HELD_OUT, build_tasks, definition_pairs, heading_pairs, keyword_pairs
from oreqa.adaptation.report import AdaptationReport, Gain
from oreqa.adaptation.stages import ENCODE, GENERATE, MEASURE, NEGATIVES, TRAIN, TRAIN_CLASSIFIER, Estimate, Stages, estimate
from oreqa.adaptation.work import (
    AFTER,
    BEFORE,
    CLASSIFIER_TRAINED,
    FOLDER,
    MEASURED,
    ORIGINAL,
    PAIRS,
    QUESTIONS,
    RECIPE,
    RETRIEVER,
    SECONDS,
    TRAINED,
    TRIAL,
    begin,
    finish,
    removed_if_refused,
    report_of_killed,
)
from oreqa.arguments import as_path, count, share, text_list
from oreqa.core import Passage
from oreqa.datasets.pairs import load_pairs, pair_row
from oreqa.datasets.questions import load_question_list
from oreqa.datasets.reqa import ReqaTask
from oreqa.defaults import DEFAULT_GENERATOR
from oreqa.errors import InputError
from oreqa.files import byte_lines, write_json, write_jsonl
from oreqa.generation import generate_questions
from oreqa.generation.candidates import MIN_WORDS, is_askable
from oreqa.generation.drafts import partial_file
from oreqa.index.change_encoder import change_encoder, take_encodings
from oreqa.index.encodings import ENCODINGS
from oreqa.index.generations import require_generation
from oreqa.index.locking import write_lock
from oreqa.index.search import Index
from oreqa.mining.negatives import draw_negatives
from oreqa.models.cross_encoder.folder import read_cross_encoder_folder
from oreqa.models.fitted import write_fitted
from oreqa.models.folders import CLASSIFIER, FITTED, find_model, model_fingerprint
from oreqa.models.mixing import mix_weights
from oreqa.progress import Progress, no_progress, show

SHARE = 0.5
"""Share of the trained weights in the mix with those before."""

FEWEST = 30
"""Held-out questions without which no gain could be told from chance."""

MOST_KEPT = 0.5
"""Upper bound of the share of generated questions that pass the filters."""

_MORE = "index more documents, or set draw (while there are passages left) or answers higher"


def adapt_index(
    index: str | Path,
    *,
    generator: str | Path = DEFAULT_GENERATOR,
    extractor: str | Path | None = None,
    classifier: str | Path | None = None,
    questions: str | Path | None = None,
    draw: int = 2000,
    answers: int = 3,
    round_trip: float = 0.8,
    seed: int = 0,
    device: str = "cpu",
    settings: str | Iterable[str] = (),
    announce: Callable[[Estimate], None] | None = None,
    progress: Progress = no_progress,
) -> AdaptationReport:
    """Train the encoder of an index on questions generated from its passages, and re-encode the index if that is better.

    Of ``draw`` passages the ``generator`` asks about up to ``answers`` spans each (``generate_questions``). With queries of
    keywords and headings, questions about definitions, and hard negatives, they train the encoder. The mean of its weights
    and those before is measured on questions about held-out documents, and published if it finds their passages better
    (p < 0.05). Your own ``questions``, a list as for ``evaluate_openqa``, are answered before and after, too; the encoder is
    not published if significantly fewer answers are right (p < 0.05). ``settings`` change the recipe of its training.
    A ``classifier``, if one is named, is trained on the same pairs, and re-ranks the held-out questions' passages before and
    after. An index names no classifier: where you re-rank, pass ``INDEX/adapted/N/classifier``.
    ``announce`` is called before the work with an estimate of its time and disk.

    The index answers with the old encoder until all is done. Everything is kept in ``INDEX/adapted/N``: an interrupted run
    resumes when it is started again, unless the documents have changed; with other ``settings`` it keeps the questions.
    Documents that are added while it runs get the new encoder's vectors, too. Raises InputError if the documents yield too
    few questions, the disk is too full or the encoder has more than one transformer and its pooling, ModelError for a
    classifier that cannot be loaded, IndexStateError if another process is adapting the index, and whatever generation and
    training raise.
    """
    folder = as_path(index, "an index's folder")
    settings = text_list(settings, "settings")
    draw, answers, seed = count(draw, "draw"), count(answers, "answers"), count(seed, "seed", 0)
    asked = None if questions is None else as_path(questions, "questions")
    if asked is not None:
        load_question_list(asked)  # a mistake in it must not show after hours
    arguments = {"generator": str(generator), "extractor": extractor and str(extractor), "draw": draw, "answers": answers,
                 "round_trip": share(round_trip, "round_trip"), "seed": seed}  # fmt: skip
    classifier = None if classifier is None else str(classifier)
    if classifier is not None:
        read_cross_encoder_folder(find_model(classifier), CLASSIFIER)  # a wrong one must not show after hours
    require_generation(folder)
    with write_lock(folder / FOLDER, "adapting this index"):
        if report := report_of_killed(folder, arguments, settings, classifier, asked):
            return report
        work = begin(folder, arguments, settings, classifier, asked, seed)
        with removed_if_refused(work), Index.open(work / ORIGINAL, device) as original:
            report = _adapt(original, work, arguments, classifier, asked, settings, device, announce, progress)
        write_json(work / MEASURED, asdict(report))
        if report.published:
            take_encodings(work / TRIAL, folder)
            change_encoder(folder, f"{report.folder}/{RETRIEVER}", device)
        finish(work)
        return report


def _adapt(
    original: Index,
    work: Path,
    arguments: Mapping[str, Any],
    classifier: str | None,
    asked: Path | None,
    settings: Sequence[str],
    device: str,
    announce: Callable[[Estimate], None] | None,
    progress: Progress,
) -> AdaptationReport:
    """Generate questions, train on them, encode a copy of the index, and measure it before and after."""
    passages, seed = list(original.passages()), arguments["seed"]
    asked_about = min(arguments["draw"], sum(map(is_askable, passages)))
    if (measured := round(MOST_KEPT * asked_about * arguments["answers"] / HELD_OUT)) < FEWEST:
        raise InputError(
            f"{work.parents[1]}: {asked_about} passages of prose of at least {MIN_WORDS} words would be asked about, which "
            f"gives {measured} questions to measure by at best; at least {FEWEST} are needed: {_MORE}"
        )
    expected = _estimate(original, passages, work, arguments, asked_about, classifier is not None)
    if announce is not None:
        announce(expected)
    if expected.bytes > (free := shutil.disk_usage(work).free):
        need = f"about {expected.bytes / 1e6:,.0f} MB of disk are needed, and {free / 1e6:,.0f} MB are free"
        raise InputError(f"{work}: {need}: free some, or move the index")
    stages = Stages(work / SECONDS)
    if not (work / QUESTIONS).is_file():
        with stages(GENERATE):
            generate_questions(work / QUESTIONS, index=original.folder, device=device, progress=progress, **arguments)
    train, held_out = _tasks(passages, work / QUESTIONS, original.settings.language, seed)
    if not (work / PAIRS).is_file():
        with stages(NEGATIVES), show(progress, NEGATIVES, len(train.questions)) as advance:
            write_jsonl(work / PAIRS, map(pair_row, draw_negatives(train, original, seed, advance)))
    with stages(TRAIN):
        _train(work, original.settings.model, settings, progress)
    with stages(MEASURE):
        before = reciprocal_ranks(held_out, original, "measuring the encoder before", progress)
        if asked is not None:
            answer_questions(asked, original.folder, work / BEFORE, seed, device, progress)
    if classifier is not None:
        with stages(TRAIN_CLASSIFIER):
            trained = train_classifier(work, classifier, seed, progress)
    trial, retriever = work / TRIAL, work / RETRIEVER
    with Index.open(trial, device) as adapted:
        if adapted.fingerprint != model_fingerprint(retriever):
            with stages(ENCODE):
                change_encoder(trial, retriever, device, progress)
        with stages(MEASURE):
            after = reciprocal_ranks(held_out, adapted, "measuring the encoder after", progress)
            _keep_calibration(retriever, original, adapted, held_out.questions)
            if asked is not None:
                answer_questions(asked, trial, work / AFTER, seed, device, progress)
            gain, of_user = Gain.of_questions(before, after, seed), {} if asked is None else user_gains(work, seed)
            published = gain.is_certain and not any(gain.is_loss for gain in of_user.values())
            of_classifier = {}
            if classifier is not None:
                searched, plain = (adapted, after) if published else (original, before)
                classifiers = classifier, trained
                of_classifier = classifier_gains(held_out, searched, classifiers, plain, seed, device, progress)
    return AdaptationReport(
        folder=f"{FOLDER}/{work.name}",
        passages=len(passages),
        train_questions=len(train.questions),
        held_out_questions=len(held_out.questions),
        held_out=gain,
        classifier=of_classifier,
        user=of_user,
        published=published,
        seconds=stages.seconds,
    )


def _estimate(
    original: Index,
    passages: Sequence[Passage],
    work: Path,
    arguments: Mapping[str, Any],
    asked_about: int,
    classifies: bool,
) -> Estimate:
    """What is left of an adaptation in ``work`` that asks about so many passages."""
    questions = asked_about * arguments["answers"]
    by_rule = sum(1 for _ in chain(heading_pairs(passages), definition_pairs(passages, arguments["seed"])))
    index = work.parents[1]
    searched = [path.stat().st_size for path in require_generation(index).rglob("*")]
    encoded = [path.stat().st_size for path in index.glob(f"{ENCODINGS}*")]
    size = 2 * sum(searched) + sum(encoded)  # the trial's files and the next generation's are there at once
    whole = estimate(original.encoder, passages, questions, by_rule, arguments["round_trip"] > 0, classifies, size)
    results = {GENERATE: QUESTIONS, NEGATIVES: PAIRS, TRAIN: f"{RETRIEVER}/model.safetensors",
               TRAIN_CLASSIFIER: f"{CLASSIFIER_TRAINED}/run.json"}  # fmt: skip
    left = {stage: time for stage, time in whole.seconds.items() if not (work / results.get(stage, MEASURED)).is_file()}
    if GENERATE in left and (partial := partial_file(work / QUESTIONS)).is_file():
        left[GENERATE] *= max(0.0, 1 - sum(1 for _ in byte_lines(partial)) / asked_about)
    files = [path.stat() for path in work.rglob("*") if path.is_file()]
    return Estimate(left, max(0, whole.bytes - sum(file.st_size for file in files if file.st_nlink == 1)))


def _tasks(passages: Sequence[Passage], questions: Path, language: str, seed: int) -> tuple[ReqaTask, ReqaTask]:
    """Tasks to train on and to measure by."""
    generated = list(load_pairs(questions))
    by_rule = keyword_pairs(generated, passages, language), heading_pairs(passages), definition_pairs(passages, seed)
    train, held_out = build_tasks(passages, generated, chain(*by_rule))
    if len(held_out.questions) < FEWEST:
        raise InputError(
            f"{questions}: {len(held_out.questions)} of its {len(generated)} questions are held out to measure by; at least "
            f"{FEWEST} are needed: {_MORE}"
        )
    return train, held_out


def _train(work: Path, model: str, settings: Sequence[str], progress: Progress) -> None:
    """Train ``work/trained``, and mix it into ``work/retriever``, unless they are there."""
    from oreqa.training import train_model

    trained, out = work / TRAINED, work / RETRIEVER
    if not (out / "model.safetensors").is_file():
        if not (trained / "run.json").is_file():
            train_model("retriever", work / RECIPE, trained, settings, progress)
        mix_weights(trained, model, SHARE, out, keep_fitted=True)


def _keep_calibration(retriever: Path, before: Index, after: Index, questions: Sequence[str]) -> None:
    """Write to the new encoder's folder what makes its scores probabilities, as the encoder before has it."""
    replaced, fitted = compare_cosines(before, after, questions), before.fitted
    calibration = fitted.calibration and fitted.calibration.rescaled(replaced.scales, replaced.offsets)
    changes = {} if calibration is None else {"calibration": asdict(calibration)}
    write_fitted(retriever / FITTED, replaced=asdict(replaced.replacing(fitted.replaced)), **changes)
