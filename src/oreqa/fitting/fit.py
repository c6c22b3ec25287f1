"""Fits score weights and calibration for an index, its encoder and any reader, and measures them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from oreqa.answering.choices import passage_reranker_of
from oreqa.answering.combining import Combination
from oreqa.arguments import as_path, count
from oreqa.defaults import DEFAULT_READER
from oreqa.errors import InputError, ModelError
from oreqa.evaluation.metrics import paired_difference
from oreqa.fitting.calibrating import JudgedAnswers, fit_calibration
from oreqa.fitting.examples import FEWEST_ANSWERABLE, GENERATED, Split, draw_examples
from oreqa.fitting.measuring import FirstAnswer, Measures, is_better, measure_answers, squared_errors
from oreqa.fitting.reading import Pipeline, fitting_questions
from oreqa.fitting.rows import Row, best_combination
from oreqa.fitting.search import Fusion, fit_search
from oreqa.generation import generate_questions
from oreqa.index.change_encoder import publish_fitted
from oreqa.index.current import write_lock
from oreqa.index.fitted import IndexFitted
from oreqa.index.generations import require_generation
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import COMBINED, Calibration, Fitted
from oreqa.models.reader.reader import Reader
from oreqa.progress import Progress, no_progress
from oreqa.provenance import fingerprint

FITTING = "fitting"
"""The folder of an index with what an unfinished fit has read, and its generated questions."""

GENERATED_ANSWERS = 2
"""The most answers in a passage that questions are generated for."""

FEWEST_UNANSWERABLE = 30
"""With fewer unanswerable questions, the others are also asked without the documents that answer them."""

FEWEST_OF_A_KIND = 10
"""The fewest right answers, and wrong ones, that a calibration is fitted on."""


@dataclass(frozen=True, slots=True)
class FitReport:
    """A fit for the ``encoder`` of an index, a ``reader`` and a ``reranker``, measured ``before`` and ``after``.

    ``questions`` of the ``data`` have an answer in the index and ``unanswerable`` ones have none; ``missing`` ones were
    not used, as the index lacks their answer. ``held_out`` says what was held out for measuring, and ``left_out``
    whether the first were also asked without the documents, or passages, that answer them. ``fit_on`` and
    ``measured_on`` count questions as often as they were asked. ``fitted`` names what became better and was replaced:
    search, combination, calibration. ``after`` uses the fitted calibration even if it was not adopted. ``kept_answers``
    counts the held-out answers to labelled questions stored for ``Answerer.guarantee``.
    """

    encoder: str
    reader: str | None
    reranker: str | None
    data: str
    questions: int
    unanswerable: int
    missing: int
    held_out: Literal["documents", "passages"]
    left_out: bool
    fit_on: int
    measured_on: int
    before: Measures
    after: Measures
    fitted: Sequence[str]
    kept_answers: int


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

    They are fitted for the index's encoder and exactly this ``reader`` and ``span_reranker``. The search weights are
    adopted if weights fitted on other questions rank the answers better in cross-validation, significantly (p < 0.05),
    and if no fewer first answers are right; those of the answers' scores if they give more right ones to held-out
    questions, significantly so against fitted ones. The calibration is adopted if its Brier score for the answers with
    these weights is significantly better than that of the previous one or, if there was none, than that of a single
    probability for all answers. The held-out questions both select and measure: the report is slightly optimistic. A
    reader of None answers with sentences.

    The ``data`` are questions with answers that the index's documents contain, and optionally questions without an
    answer: a SQuAD or MRQA file, pairs, or a question list. Up to ``questions`` of them are drawn by ``seed``, and those
    about a third of the documents are held out. With fewer than ``FEWEST_UNANSWERABLE`` unanswerable ones, the others
    are also asked without the documents that answer them. Without ``data``, questions are generated from the index's
    passages and kept in ``INDEX/fitting``. They are worth less than people's, since they use the words of their answer's
    sentence.

    After an interruption, call it again to continue with what it has read. Raises InputError for data that cannot be
    read and for too few questions, ModelError for a model that cannot be loaded, IndexStateError if another process is
    writing the index or fitting for it.
    """
    folder, questions, seed = as_path(index, "an index's folder"), count(questions, "questions"), count(seed, "seed", 0)
    if questions < FEWEST_ANSWERABLE:
        raise InputError(f"questions is {questions}; at least {FEWEST_ANSWERABLE} are needed, and a few hundred are better")
    if span_reranker is not None and reader is None:
        raise InputError("a re-ranker needs a reader whose spans it reconsiders")
    require_generation(folder)
    with write_lock(folder / FITTING, "fitting for this index"), _kept_if_killed(folder / FITTING) as work:
        with Index.open(folder, device) as opened:
            drawn = None if data is None else draw_examples(opened, as_path(data, "data"), str(data), questions, seed)
            if drawn is None:
                _need_passages(opened)
            names = reader, passage_reranker_of(reader)
            readers = [None if name is None else Reader(name, device=device) for name in names]
            comparing = None if span_reranker is None else CrossEncoder(span_reranker, device=device)
            if drawn is None:
                path = _generated(opened, work, questions, seed, device, progress)
                drawn = draw_examples(opened, path, GENERATED, questions, seed)
            split, missing = drawn
            fit = _Fit(opened, Pipeline(readers[0], comparing, device, readers[1]), split, work, seed, progress)
            outcome = fit.run(labelled=data is not None)
            encoder, model, before = opened.fingerprint, opened.settings.model, opened.snapshot().index_fitted
        if outcome.fitted or (outcome.kept_answers and outcome.replacing(before, encoder) != before):
            publish_fitted(folder, lambda before: outcome.replacing(before, encoder))
    examples = (*split.fit, *split.measured)
    return FitReport(
        model,
        None if reader is None else str(reader),
        None if span_reranker is None else str(span_reranker),
        GENERATED if data is None else str(data),
        sum(bool(example.golds) for example in examples),
        sum(not example.golds for example in examples),
        missing,
        "documents" if split.whole_documents else "passages",
        fit.without_answers,
        *fit.sizes,
        outcome.before,
        outcome.after,
        outcome.fitted,
        outcome.kept_answers,
    )


def _need_passages(index: Index) -> None:
    """Raise InputError if there are too few passages to generate questions from."""
    most = GENERATED_ANSWERS * index.counts()["passages"]
    if most < FEWEST_ANSWERABLE:
        raise InputError(
            f"{index.folder}: at most {most} questions can be generated from its passages, and {FEWEST_ANSWERABLE} are "
            "needed: give a file with questions (--data), or index more documents"
        )


def _generated(index: Index, work: Path, questions: int, seed: int, device: str, progress: Progress) -> Path:
    """Return the file with questions about an index's passages, generated unless an earlier call kept it.

    A classifier filters the questions: those that a reader answers again would not show where it fails.
    """
    path = work / f"questions-{fingerprint([index.content_fingerprint, questions, seed])}.jsonl"
    if not path.is_file():
        generate_questions(
            path, index=index.folder, draw=questions, answers=GENERATED_ANSWERS, round_trip=0, min_probability=0.5,
            seed=seed, device=device, progress=progress,
        )  # fmt: skip
    if not path.is_file():
        raise InputError(f"{index.folder}: no question about its passages could be generated; give data with questions")
    return path


@contextmanager
def _kept_if_killed(work: Path) -> Iterator[Path]:
    """Remove what was read when a fit ends; a refused fit keeps what an interrupted one has read."""
    kept = set(work.glob("read-*.jsonl"))
    try:
        yield work
    except (InputError, ModelError):
        _clear(work, kept)
        raise
    _clear(work)


def _clear(work: Path, kept: Iterable[Path] = ()) -> None:
    for file in set(work.glob("read-*.jsonl")).difference(kept):
        file.unlink()
    if not any(work.glob("*.jsonl")):
        shutil.rmtree(work)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The new parameters, and the measures ``before`` and ``after``. ``fusion`` is None if the search keeps its weights,
    and ``calibration`` if none is better than a single probability for all answers."""

    models: tuple[str, str]
    fusion: Fusion | None
    combination: Combination
    calibration: Calibration | None
    before: Measures
    after: Measures
    fitted: tuple[str, ...]

    @property
    def kept_answers(self) -> int:
        return len(self.calibration.held_out) if self.calibration else 0

    def replacing(self, before: IndexFitted, encoder: str) -> IndexFitted:
        """Return what was fitted for the index with this replacing it, without what was fitted with other search weights."""
        if before.encoder != encoder:
            before = IndexFitted(encoder)
        if self.fusion is not None:
            before = IndexFitted(encoder, self.fusion)
        weights = {name: getattr(self.combination, name) for name in COMBINED} if self.models[0] else {}
        fitted = Fitted(combination=weights, calibration=self.calibration)
        return replace(before, pipelines={**before.pipelines, self.models: fitted})


class _Fit:
    """One fit: the questions are read once with the old and once with the new weights; all else follows from that."""

    def __init__(self, index: Index, pipeline: Pipeline, split: Split, work: Path, seed: int, progress: Progress) -> None:
        self.index, self.pipeline, self.split = index, pipeline, split
        self.work, self.seed, self.progress = work, seed, progress
        unanswerable = sum(not example.golds for example in (*split.fit, *split.measured))
        self.without_answers = unanswerable < FEWEST_UNANSWERABLE
        self.questions = [fitting_questions(part, self.without_answers) for part in (split.fit, split.measured)]
        self.sizes = len(self.questions[0]), len(self.questions[1])

    def run(self, labelled: bool) -> _Outcome:
        """Fit and measure. Raises InputError if nearly all answers are right, or wrong."""
        start, calibration = self.pipeline.fitted(self.index)
        search = fit_search(self.index, self.split, self.seed, self.progress)
        held_out = self._read(self.index, 1, "before")
        if search.is_better:
            with Index(self.index.folder, self.pipeline.device, weights=search.fusion) as weighted:
                rows, held_out_after = self._read(weighted, 0, "after"), self._read(weighted, 1, "after")
            right = [sum(self.pipeline.right_answers(read, start)) for read in (held_out, held_out_after)]
            search = replace(search, is_better=right[0] <= right[1])
        if not search.is_better:
            rows, held_out_after = self._read(self.index, 0, "before"), held_out
        combination = self._combination(rows, held_out_after, start)
        answers = self.pipeline.first_answers(rows, combination)
        fitted = fit_calibration(self.pipeline.features, [self._judged(answers)])
        before = self.pipeline.first_answers(held_out, start)
        after = self.pipeline.first_answers(held_out_after, combination)
        errors = squared_errors(after, fitted), squared_errors(after, calibration)
        better = {
            "search": search.is_better,
            "combination": combination != start,
            "calibration": is_better(paired_difference(*errors, self.seed), calibration is not None),
        }
        counts = fitted if better["calibration"] else calibration
        if counts and labelled:  # by people
            counts = replace(counts, held_out=tuple((round(a.probability(counts), 6), a.right) for a in after))
        unit = self.pipeline.unit
        return _Outcome(
            self.pipeline.fingerprints,
            search.fusion if search.is_better else None,
            combination,
            counts,
            measure_answers(before, search.before[unit], calibration),
            measure_answers(after, (search.after if search.is_better else search.before)[unit], fitted),
            tuple(name for name, is_taken in better.items() if is_taken),
        )

    def _read(self, index: Index, part: int, when: str) -> list[Row]:
        name = f"reading {('questions', 'held-out questions')[part]}"
        file = self.work / f"read-{part}-{when}.jsonl"
        return self.pipeline.rows(index, self.questions[part], self.split.whole_documents, file, name, self.progress)

    def _combination(self, rows: Sequence[Row], held_out: Sequence[Row], start: Combination) -> Combination:
        """Return the fitted weights of answers' scores if they give more right first answers to held-out questions."""
        if self.pipeline.reader is None:
            return start
        best = best_combination([rows], self.pipeline.reranker is not None, start, "f1")
        before, after = (self.pipeline.right_answers(held_out, weights) for weights in (start, best))
        fitted_on_index = self.pipeline.fingerprints in self.index.snapshot().index_fitted.pipelines
        fitted_before = fitted_on_index or self.pipeline.fitted(self.index)[1] is not None
        return best if is_better(paired_difference(before, after, self.seed), fitted_before) else start

    def _judged(self, answers: Sequence[FirstAnswer]) -> JudgedAnswers:
        """Return the answers that have features. Raises InputError if too few are right, or wrong."""
        kept = [answer for answer in answers if answer.features is not None]
        right = np.array([answer.right for answer in kept], bool)
        if min(right.sum(), (~right).sum()) < FEWEST_OF_A_KIND:
            raise InputError(
                f"of {len(kept)} answers to fit on {right.sum()} are right; at least {FEWEST_OF_A_KIND} right and "
                f"{FEWEST_OF_A_KIND} wrong ones are needed: ask more about the documents, or other questions"
            )
        x = [[answer.features[name] for name in self.pipeline.features] for answer in kept if answer.features]
        return JudgedAnswers(np.array(x), right, np.array([answer.answerable for answer in kept], bool))
