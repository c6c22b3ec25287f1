"""Adapts an index's models to its documents: generates questions, trains, measures, and publishes what is better."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from oreqa.adaptation.measuring import answer_questions, classifier_gains, reciprocal_ranks, user_gains
from oreqa.adaptation.outlook import FIRST_ANSWERS, FIRST_PASSAGES, foresee, has_learned
from oreqa.adaptation.questions import (
    HELD_OUT_DOCUMENTS,
    build_tasks,
    heading_pairs,
    keyword_pairs,
    one_task,
    split_marks,
)
from oreqa.adaptation.report import AdaptationReport, Compare, Gain, Outlook, Significance
from oreqa.adaptation.stages import (
    ENCODE,
    FORESEE,
    GENERATE,
    MEASURE,
    NEGATIVES,
    TRAIN,
    TRAIN_CLASSIFIER,
    Estimate,
    Stages,
    estimate,
)
from oreqa.adaptation.tuning import keep_calibration, tune_classifier, tune_encoder
from oreqa.adaptation.work import FOLDER, Work, begin, finish, removed_if_refused, report_of_killed, run_state
from oreqa.arguments import as_index_folder, as_path, count, share, text_list
from oreqa.core import Passage
from oreqa.datasets.mark_examples import place_marks
from oreqa.datasets.marks import Mark, mark_json, read_marks
from oreqa.datasets.pairs import Pair, load_pairs, pair_row
from oreqa.datasets.questions import load_question_list
from oreqa.datasets.reqa import ReqaTask
from oreqa.defaults import DEFAULT_GENERATOR
from oreqa.errors import InputError
from oreqa.evaluation.metrics import paired_difference
from oreqa.files import byte_lines, write_json, write_jsonl
from oreqa.generation import generate_questions
from oreqa.generation.candidates import MIN_WORDS, is_askable
from oreqa.index.change_encoder import change_encoder
from oreqa.index.current import write_lock
from oreqa.index.generations import require_generation
from oreqa.index.search import Index
from oreqa.mining.negatives import draw_negatives
from oreqa.models.cross_encoder.inputs import read_cross_encoder_folder
from oreqa.models.encoder.folder import encoder_fingerprint, read_encoder_folder
from oreqa.models.names import CLASSIFIER, find_model
from oreqa.paths import partial_file
from oreqa.progress import Progress, no_progress, show
from oreqa.training import need_torch
from oreqa.visible import counted

FEWEST_QUESTIONS = 30
"""The fewest held-out questions with which a gain can be told from chance."""

FEWEST_MARKS = 10
"""Marks with an answer in each half of them: for training and for measuring."""

MOST_PASSING = 0.5
"""Upper bound of the share of generated questions that pass the filters."""

_MORE = "index more documents, or set draw (while there are passages left) or answers higher"


def adapt_index(
    index: str | Path,
    *,
    generator: str | Path = DEFAULT_GENERATOR,
    extractor: str | Path | None = None,
    classifier: str | Path | None = None,
    questions: str | Path | None = None,
    marks: bool = False,
    anyway: bool = False,
    draw: int = 2000,
    answers: int = 3,
    round_trip: float = 0.8,
    seed: int = 0,
    device: str = "cpu",
    settings: str | Iterable[str] = (),
    significance: Significance = paired_difference,
    announce: Callable[[Estimate], None] | None = None,
    progress: Progress = no_progress,
) -> AdaptationReport:
    """Train the encoder of an index on questions generated from its passages, and re-encode the index if that is better.

    The ``generator`` asks about up to ``answers`` spans in each of ``draw`` passages (``generate_questions``). Together with
    queries made of keywords and headings, and with hard negatives, these questions train the encoder. The average of its
    weights before and after is measured on questions about held-out documents, and published if it finds their passages
    better (p < 0.05). Your own ``questions``, a list as for ``evaluate_openqa``, are also answered before and after; the
    encoder is not published if significantly fewer answers are right (p < 0.05). ``settings`` change the recipe of its
    training.

    With ``marks``, it also learns from half of the index's marks, divided by document, and is also measured on the other
    half: a significant gain there suffices to publish it, a significant loss prevents it.

    It first asks about ``FIRST_PASSAGES`` passages. Unless the default encoder finds them better than the index's
    (p < 0.05), no gain is expected, and nothing is trained: the report says so. The same holds if the index has the default
    encoder. ``anyway``, ``marks`` or a ``classifier`` skip this test.

    A named ``classifier`` is trained on the same pairs, and re-ranks the held-out questions' passages before and after.
    An index does not store a classifier: to re-rank, pass ``INDEX/adapted/N/classifier``. ``announce`` is called before
    the work with an estimate of its time and disk. ``significance`` tests differences.

    The index answers with the old encoder until all is done. Everything is stored in ``INDEX/adapted/N``: an interrupted run
    resumes when it is started again, unless the documents have changed; with other ``settings`` it keeps the questions.
    Documents added while it runs also get the new encoder's vectors. Raises InputError if the documents yield too few
    questions, the index has too few marks, the disk is too full, or the encoder has more than one transformer and its
    pooling, ModelError for a classifier that cannot be loaded, IndexStateError if another process is adapting the index,
    and whatever generation and training raise.
    """
    need_torch()
    folder = as_index_folder(index)
    settings = text_list(settings, "settings")
    draw, answers, seed = count(draw, "draw"), count(answers, "answers"), count(seed, "seed", 0)
    questions_file = None if questions is None else as_path(questions, "questions")
    if questions_file is not None:
        load_question_list(questions_file)  # a mistake in it must not surface after hours
    arguments = {"generator": str(generator), "extractor": extractor and str(extractor), "draw": draw, "answers": answers,
                 "round_trip": share(round_trip, "round_trip"), "seed": seed}  # fmt: skip
    classifier = None if classifier is None else str(classifier)
    if classifier is not None:
        read_cross_encoder_folder(find_model(classifier), CLASSIFIER)  # a wrong one must not surface after hours
    require_generation(folder)
    compare = partial(Gain.from_questions, seed=seed, significance=significance)
    with write_lock(folder / FOLDER, "adapting this index"):
        marked = _need_marks(folder) if marks else []
        state = run_state(settings, classifier, questions_file, marked)
        if report := report_of_killed(folder, arguments, state):
            return report
        work = begin(folder, arguments, state, classifier)
        write_jsonl(work.marks, map(mark_json, marked))  # later marks of the index change nothing here
        with removed_if_refused(work), Index.open(work.original, device) as original:
            foresees = not (anyway or marks or classifier)
            outlook = Outlook(0, None) if foresees and has_learned(original) else None
            if outlook is None:
                _check_room(_estimate(original, work, arguments, classifier is not None, foresees), work, announce)
                if foresees and (work.outlook.is_file() or not work.questions.is_file()):
                    with Stages(work.seconds)(FORESEE):
                        outlook = foresee(work, original, arguments, compare, device, progress)
            if outlook is None or outlook.expects_gain:
                report = _adapt(original, work, arguments, classifier, questions_file, settings, compare, device, progress)
                report = replace(report, outlook=outlook)
            else:
                report = _kept(original, work, outlook)
        write_json(work.measured, asdict(report))
        if report.published:
            change_encoder(folder, f"{report.folder}/{work.retriever.name}", device, encoded=work.trial)
        finish(work)
        return report


def _adapt(
    original: Index,
    work: Work,
    arguments: Mapping[str, Any],
    classifier: str | None,
    questions_file: Path | None,
    settings: Sequence[str],
    compare: Compare,
    device: str,
    progress: Progress,
) -> AdaptationReport:
    """Generate questions, train on them, encode a copy of the index, and measure it before and after."""
    passages, seed = list(original.passages()), arguments["seed"]
    learned, measured = _marked_halves(work, passages)
    stages = Stages(work.seconds)
    if not work.questions.is_file():
        with stages(GENERATE):
            generate_questions(work.questions, index=original.folder, device=device, progress=progress, **arguments)
    train, held_out = _tasks(passages, work.questions, learned, original.settings.language)
    tasks = [held_out, *([one_task(passages, measured)] if measured else [])]
    if not work.pairs.is_file():
        with stages(NEGATIVES), show(progress, NEGATIVES, len(train.questions)) as advance:
            write_jsonl(work.pairs, map(pair_row, draw_negatives(train, original, seed, advance)))
    with stages(TRAIN):
        tune_encoder(work.recipe, work.trained, original.settings.model, settings, work.retriever, progress)
    with stages(MEASURE):
        before = [reciprocal_ranks(task, original, "measuring the encoder before", progress) for task in tasks]
        if questions_file is not None:
            answer_questions(questions_file, original.folder, work.before, seed, device, progress)
    if classifier is not None:
        with stages(TRAIN_CLASSIFIER):
            tune_classifier(work.classifier_recipe, work.pairs, classifier, seed, work.classifier, progress)
    with Index.open(work.trial, device) as adapted:
        dim = original.settings.truncate_dim
        if adapted.fingerprint != encoder_fingerprint(read_encoder_folder(work.retriever).cut_to(dim)):
            with stages(ENCODE):
                change_encoder(work.trial, work.retriever, device, progress)
        with stages(MEASURE):
            after = [reciprocal_ranks(task, adapted, "measuring the encoder after", progress) for task in tasks]
            keep_calibration(work.retriever, original, adapted, held_out.questions)
            if questions_file is not None:
                answer_questions(questions_file, work.trial, work.after, seed, device, progress)
            gains = [compare(*ranks) for ranks in zip(before, after, strict=True)]
            question_gains = {} if questions_file is None else user_gains(work.before, work.after, compare)
            lost = any(gain.is_loss for gain in (*gains, *question_gains.values()))
            published = any(gain.is_certain for gain in gains) and not lost
            gains_by_classifier = {}
            if classifier is not None:
                searched, plain = (adapted, after[0]) if published else (original, before[0])
                classifiers = classifier, work.classifier
                gains_by_classifier = classifier_gains(held_out, searched, classifiers, plain, compare, device, progress)
    counts = len(passages), len(train.questions), len(held_out.questions)
    learned_marks = len({pair.question for pair in learned} & set(train.questions))
    return AdaptationReport(
        work.name, *counts, gains[0], gains_by_classifier, question_gains, published, stages.seconds, learned_marks,
        len(measured), gains[1] if measured else None,
    )  # fmt: skip


def _kept(original: Index, work: Work, outlook: Outlook) -> AdaptationReport:
    """Return the report of a skipped adaptation."""
    count = original.counts()["passages"]
    return AdaptationReport(work.name, count, 0, 0, None, {}, {}, False, Stages(work.seconds).seconds, outlook=outlook)


def _need_marks(folder: Path) -> list[Mark]:
    """Return the marks of an index.

    Raises InputError if they are too few for training on one half and measuring on the other.
    """
    marks = read_marks(folder)
    if (answered := sum(bool(mark.answers) for mark in marks)) < 2 * FEWEST_MARKS:
        raise InputError(
            f"{folder}: {answered} of its marks have an answer; at least {2 * FEWEST_MARKS} are needed: leave marks out"
        )
    return marks


def _marked_halves(work: Work, passages: Sequence[Passage]) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs of marks for training and for measuring, if any. Raises InputError if either are too few."""
    marks = read_marks(work.folder)
    learned, measured = split_marks(place_marks(marks, passages))
    if marks and min(len(learned), len(measured)) < FEWEST_MARKS:
        raise InputError(
            f"{work.index}: of its marks whose passage stands, {len(learned)} are about one half of the documents and "
            f"{len(measured)} about the other; at least {FEWEST_MARKS} of each are needed: leave marks out"
        )
    return learned, measured


def _check_room(expected: Estimate, work: Work, announce: Callable[[Estimate], None] | None) -> None:
    """Announce the estimate. Raises InputError if the disk is too full for it."""
    if announce is not None:
        announce(expected)
    if expected.bytes > (free := shutil.disk_usage(work.folder).free):
        need = f"about {expected.bytes / 1e6:,.0f} MB of disk are needed, and {free / 1e6:,.0f} MB are free"
        raise InputError(f"{work.folder}: {need}: free some, or move the index")


def _estimate(original: Index, work: Work, arguments: Mapping[str, Any], classifies: bool, foresees: bool) -> Estimate:
    """Return the remaining time and disk of an adaptation.

    Raises InputError if it would have too few questions to measure.
    """
    passages = list(original.passages())
    askable = min(arguments["draw"], sum(map(is_askable, passages)))
    questions = askable * arguments["answers"]
    if (measured := round(MOST_PASSING * questions / HELD_OUT_DOCUMENTS)) < FEWEST_QUESTIONS:
        raise InputError(
            f"{work.index}: {askable} passages of prose of at least {MIN_WORDS} words would be asked about, which "
            f"gives {measured} questions to measure by at best; at least {FEWEST_QUESTIONS} are needed: {_MORE}"
        )
    by_rule = sum(1 for _ in heading_pairs(passages))
    searched = [path.stat().st_size for path in require_generation(work.index).rglob("*")]
    size = 2 * sum(searched)  # the trial's files and the next generation's exist at the same time
    first = FIRST_ANSWERS * min(FIRST_PASSAGES, askable) if foresees else 0
    whole = estimate(original.encoder, passages, questions, by_rule, arguments["round_trip"] > 0, classifies, size, first)
    generated = work.questions if work.questions.is_file() else work.outlook
    results = {FORESEE: generated, GENERATE: work.questions, NEGATIVES: work.pairs,
               TRAIN: work.retriever / "model.safetensors", TRAIN_CLASSIFIER: work.classifier / "run.json"}  # fmt: skip
    left = {stage: time for stage, time in whole.seconds.items() if not results.get(stage, work.measured).is_file()}
    if GENERATE in left and (unfinished := partial_file(work.questions)).is_file():
        left[GENERATE] *= max(0.0, 1 - sum(1 for _ in byte_lines(unfinished)) / askable)
    files = [path.stat() for path in work.folder.rglob("*") if path.is_file()]
    return Estimate(left, max(0, whole.bytes - sum(file.st_size for file in files if file.st_nlink == 1)))


def _tasks(passages: Sequence[Passage], questions: Path, marked: Sequence[Pair], language: str) -> tuple[ReqaTask, ReqaTask]:
    """Return tasks for training, including the ``marked`` pairs, and for measuring."""
    generated = list(load_pairs(questions))
    others = keyword_pairs(generated, passages, language), heading_pairs(passages), marked
    train, held_out = build_tasks(passages, generated, chain(*others))
    if len(held_out.questions) < FEWEST_QUESTIONS:
        raise InputError(
            f"{questions}: {len(held_out.questions)} of {counted(len(generated), 'question')} are held out to measure by; "
            f"at least {FEWEST_QUESTIONS} are needed: {_MORE}"
        )
    return train, held_out
