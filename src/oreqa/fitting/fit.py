"""Fit the weights of scores and the calibration of answers for an index, its encoder and any reader, and measure them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oreqa.answering.combining import Combination
from oreqa.arguments import as_path, count
from oreqa.defaults import DEFAULT_READER
from oreqa.errors import InputError
from oreqa.evaluation.metrics import paired_difference
from oreqa.fitting.calibrating import JudgedAnswers, fit_calibration
from oreqa.fitting.examples import Split, load_examples, place_examples, split_examples
from oreqa.fitting.measuring import FirstAnswer, Measures, is_better, measure_answers, squared_errors
from oreqa.fitting.reading import Pipeline, asked_questions
from oreqa.fitting.rows import Row, best_combination
from oreqa.fitting.search import Fusion, fit_search
from oreqa.generation import generate_questions
from oreqa.index.change_encoder import publish_fitted
from oreqa.index.current import write_lock
from oreqa.index.fitted import FittedPipeline, IndexFitted
from oreqa.index.generations import require_generation
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import COMBINED, Calibration, Fitted
from oreqa.models.reader.reader import Reader
from oreqa.progress import Progress, no_progress
from oreqa.provenance import fingerprint

FITTING = "fitting"
"""Where an index keeps what an unfinished fit has read, and the questions that were generated for it."""

FEWEST_ANSWERABLE = 90
"""Questions with an answer in the index that are needed: 60 to fit on, and 30 to measure by."""

FEWEST_UNANSWERABLE = 30
"""With fewer unanswerable questions than this, the others are asked once more without the documents that answer them."""

FEWEST_OF_A_KIND = 10
"""Right answers, and wrong ones, that a calibration is fitted on at least."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """A fit for the ``encoder`` of an index, a ``reader`` and a ``reranker``, measured ``before`` and ``after``.

    ``questions`` of the ``data`` have an answer in the index and ``unanswerable`` ones have none; ``missing`` ones were not
    used, since the index does not hold their answer. ``left_out`` says whether the first were also asked without the
    documents that answer them. ``fit_on`` and ``measured_on`` count questions as often as they were asked. ``fitted`` names
    what is better than before, and took its place: search, combination, calibration; without a better calibration, nothing.
    """

    encoder: str
    reader: str | None
    reranker: str | None
    data: str
    questions: int
    unanswerable: int
    missing: int
    left_out: bool
    fit_on: int
    measured_on: int
    before: Measures
    after: Measures
    fitted: Sequence[str]


def fit_index(
    index: str | Path,
    *,
    data: str | Path | None = None,
    reader: str | Path | None = DEFAULT_READER,
    span_reranker: str | Path | None = None,
    questions: int = 500,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> FitReport:
    """Fit the weights of an index's search, those of its answers' scores, and the calibration of their confidence.

    They are fitted for the index's encoder and exactly this ``reader`` and ``span_reranker``. Weights are taken if they give
    more, on questions about documents that were not used for it, than those before: any gain counts over plain ones, and a
    certain one (p < 0.05) over fitted ones. All is published with the index if the calibration's Brier score is better in
    the same sense than that of the calibration before, or of one probability for all answers. The held-out questions thus
    choose as well as measure, which makes the report a little too good. A reader of None answers with sentences.

    The ``data`` are questions with answers that the index's documents hold, and questions without an answer, if there are
    any: a SQuAD or MRQA file, pairs, or a list of questions. Up to ``questions`` of them are drawn by ``seed``, and those
    about a third of the documents are held out. With fewer than ``FEWEST_UNANSWERABLE`` unanswerable ones, the others are
    asked once more without the documents that answer them. Without ``data``, questions are generated from the index's
    passages and kept in ``INDEX/fitting``. They are worth less than people's, since they use the words of their answer's
    sentence.

    Interrupted, it goes on with what it has read when it is called again. Raises InputError for data that cannot be read
    and for too few questions, ModelError for a model that cannot be loaded, IndexStateError if another process is writing
    the index or fitting for it.
    """
    folder, questions, seed = as_path(index, "an index's folder"), count(questions, "questions"), count(seed, "seed", 0)
    if span_reranker is not None and reader is None:
        raise InputError("a re-ranker needs a reader whose spans it reconsiders")
    require_generation(folder)
    with write_lock(folder / FITTING, "fitting for this index"), _kept_if_killed(folder / FITTING) as work:
        path = _generated(folder, work, questions, seed, device, progress) if data is None else as_path(data, "data")
        models = (
            None if reader is None else Reader(reader, device=device),
            None if span_reranker is None else CrossEncoder(span_reranker, device=device),
        )
        with Index.open(folder, device) as opened:
            examples = load_examples(path, opened.settings.language)
            placed = place_examples(examples, list(opened.passages()))
            split = split_examples(placed, questions, seed)
            _need_questions(split, path, len(examples) - len(placed))
            fit = _Fit(opened, Pipeline(*models, device), split, work, seed, progress)
            outcome = fit.run()
            encoder, model = opened.fingerprint, opened.settings.model
        if outcome.fitted:
            publish_fitted(folder, lambda before: outcome.replacing(before, encoder))
    drawn = (*split.fit, *split.measured)
    return FitReport(
        model,
        None if reader is None else str(reader),
        None if span_reranker is None else str(span_reranker),
        "generated questions" if data is None else str(path),
        sum(bool(example.golds) for example in drawn),
        sum(not example.golds for example in drawn),
        len(examples) - len(placed),
        fit.apart,
        *fit.sizes,
        outcome.before,
        outcome.after,
        outcome.fitted,
    )


def _generated(folder: Path, work: Path, questions: int, seed: int, device: str, progress: Progress) -> Path:
    """The file with questions about an index's passages, generated unless an earlier call kept it.

    A classifier judges the questions: those that a reader answers again would say nothing about where it fails.
    """
    with Index.open(folder, device) as opened:
        decisive = [opened.content_fingerprint, questions, seed]
    path = work / f"questions-{fingerprint(decisive)}.jsonl"
    if not path.is_file():
        generate_questions(
            path, index=folder, draw=questions, answers=2, round_trip=0, min_probability=0.5, seed=seed, device=device,
            progress=progress,
        )  # fmt: skip
    if not path.is_file():
        raise InputError(f"{folder}: no question about its passages could be generated; give data with questions")
    return path


@contextmanager
def _kept_if_killed(work: Path) -> Iterator[Path]:
    """What was read is removed when the fit has ended, or was refused."""
    try:
        yield work
    except InputError:
        _clear(work)
        raise
    _clear(work)


def _clear(work: Path) -> None:
    for file in work.glob("read-*.jsonl"):
        file.unlink()
    if not any(work.glob("questions-*")):
        shutil.rmtree(work)


def _need_questions(split: Split, path: Path, missing: int) -> None:
    """Raise InputError if there are too few questions to fit on, or to measure by."""
    answerable = sum(bool(example.golds) for example in (*split.fit, *split.measured))
    if answerable < FEWEST_ANSWERABLE:
        others = f", and that of {missing} others stands nowhere in it" if missing else ""
        raise InputError(
            f"{path}: {answerable} questions have an answer that the index holds{others}; at least {FEWEST_ANSWERABLE} are "
            "needed: ask more about its documents, or set questions (--questions) higher"
        )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was fitted, and measured ``before`` and ``after``; ``fusion`` is None where the search keeps its weights."""

    models: tuple[str, str]
    fusion: Fusion | None
    combination: Combination
    calibration: Calibration
    before: Measures
    after: Measures
    fitted: tuple[str, ...]

    def replacing(self, before: IndexFitted, encoder: str) -> IndexFitted:
        """What was fitted for the index, with this in its place: what was fitted with other weights of the search goes."""
        if before.encoder != encoder:
            before = IndexFitted(encoder)
        if self.fusion is not None:
            before = IndexFitted(encoder, self.fusion)
        weights = {name: getattr(self.combination, name) for name in COMBINED} if self.models[0] else {}
        fitted = Fitted(combination=weights, calibration=self.calibration)
        return before.with_pipeline(FittedPipeline(*self.models, fitted))


class _Fit:
    """One fit: the questions are read once by the weights before and once by those after, and all else follows from that."""

    def __init__(self, index: Index, pipeline: Pipeline, split: Split, work: Path, seed: int, progress: Progress) -> None:
        self.index, self.pipeline, self.split = index, pipeline, split
        self.work, self.seed, self.progress = work, seed, progress
        unanswerable = sum(not example.golds for example in (*split.fit, *split.measured))
        self.apart = unanswerable < FEWEST_UNANSWERABLE
        self.asked = [asked_questions(part, self.apart) for part in (split.fit, split.measured)]
        self.sizes = len(self.asked[0]), len(self.asked[1])

    def run(self) -> _Outcome:
        """Fit and measure. Raises InputError if nearly all answers are right, or wrong."""
        start, calibration = self.pipeline.fitted(self.index)
        search = fit_search(self.index, self.split, self.seed, self.progress)
        held_out = self._read(self.index, 1, "before")
        if search.is_better:
            with Index(self.index.folder, self.pipeline.device, weights=search.fusion) as weighted:
                rows, held_out_after = self._read(weighted, 0, "after"), self._read(weighted, 1, "after")
        else:
            rows, held_out_after = self._read(self.index, 0, "before"), held_out
        combination = self._combination(rows, held_out_after, start)
        answers = self.pipeline.first_answers(rows, combination)
        fitted = fit_calibration(self.pipeline.features, [self._judged(answers)])
        before = self.pipeline.first_answers(held_out, start)
        after = self.pipeline.first_answers(held_out_after, combination)
        share = float(np.mean([answer.right for answer in answers]))
        errors = squared_errors(after, fitted, share), squared_errors(after, calibration, share)
        names = ("search",) * search.is_better + ("combination",) * (combination != start) + ("calibration",)
        unit = self.pipeline.unit
        return _Outcome(
            self.pipeline.fingerprints,
            search.fusion if search.is_better else None,
            combination,
            fitted,
            measure_answers(before, search.before[unit], calibration),
            measure_answers(after, (search.after if search.is_better else search.before)[unit], fitted),
            names if is_better(paired_difference(*errors, self.seed), calibration is not None and len(names) == 1) else (),
        )

    def _read(self, index: Index, part: int, when: str) -> list[Row]:
        name = f"reading {('questions', 'held-out questions')[part]}"
        file = self.work / f"read-{part}-{when}.jsonl"
        return self.pipeline.rows(index, self.asked[part], self.split.whole_documents, file, name, self.progress)

    def _combination(self, rows: Sequence[Row], held_out: Sequence[Row], start: Combination) -> Combination:
        """The fitted weights of answers' scores if they give more right first answers to held-out questions."""
        if self.pipeline.reader is None:
            return start
        best = best_combination([rows], self.pipeline.reranker is not None, start, "f1")
        before, after = (
            [float(a.right) for a in self.pipeline.first_answers(held_out, weights) if a.answerable]
            for weights in (start, best)
        )
        fitted_before = self.pipeline.fitted(self.index)[1] is not None
        return best if is_better(paired_difference(before, after, self.seed), fitted_before) else start

    def _judged(self, answers: Sequence[FirstAnswer]) -> JudgedAnswers:
        """The answers that have features. Raises InputError if too few are right, or wrong."""
        kept = [answer for answer in answers if answer.features is not None]
        right = np.array([answer.right for answer in kept], bool)
        if min(right.sum(), (~right).sum()) < FEWEST_OF_A_KIND:
            raise InputError(
                f"{right.sum()} of {len(kept)} answers to fit on are right; at least {FEWEST_OF_A_KIND} right and as many "
                "wrong ones are needed: ask more about the documents, or other questions"
            )
        x = [[answer.features[name] for name in self.pipeline.features] for answer in kept if answer.features]
        return JudgedAnswers(np.array(x), right, np.array([answer.answerable for answer in kept], bool))
