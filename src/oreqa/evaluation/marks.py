"""Measures an index's answers by its marks: right ones, refusals, precision by threshold, and a better threshold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oreqa.answer import Answer
from oreqa.answering.answerer import Answerer
from oreqa.arguments import as_index_folder, as_path, choice
from oreqa.datasets.mark_examples import MarkedKind, need_marked_file, place_marks, write_marked
from oreqa.datasets.marks import UNDECIDED_FILE, VERDICTS, Mark, read_marks
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import Quality
from oreqa.errors import InputError
from oreqa.evaluation.open_scores import is_right
from oreqa.files import need_new
from oreqa.index.generations import require_generation
from oreqa.index.search import Index
from oreqa.models.reader.reader import CHUNK
from oreqa.progress import Progress, no_progress, show

FEWEST_TO_SUGGEST = 50
"""Measured marks from which on a threshold is suggested."""

STEPS = tuple(step / 20 for step in range(1, 20))
"""Thresholds compared, besides the current one."""


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """The effect of a ``threshold`` on the first answers: ``given_answers`` are shown, of which ``right``.

    ``right_side`` counts those on its right side: right ones shown, wrong ones withheld.
    """

    threshold: float
    given_answers: int
    right: int
    right_side: int

    @property
    def precision(self) -> float | None:
        """The share of right answers among those given; None if there are none."""
        return self.right / self.given_answers if self.given_answers else None


@dataclass(frozen=True, slots=True)
class MarksReport:
    """An index's current answers, measured by its marks.

    Attributes:
        verdicts: The number of marks by verdict.
        changed: Marks that are not measured: their passage is gone from the index or has changed.
        answerable: Questions with an answer.
        right: Those answered right.
        wrong: Those answered wrong.
        refused: Those refused.
        unanswerable: Questions without an answer.
        rightly_refused: Those refused.
        threshold: The current threshold; None for uncalibrated models.
        thresholds: What each threshold would do.
        suggested: A threshold with more first answers on its right side, from ``FEWEST_TO_SUGGEST`` questions on.
    """

    verdicts: Mapping[str, int]
    changed: int
    answerable: int
    right: int
    wrong: int
    refused: int
    unanswerable: int
    rightly_refused: int
    threshold: float | None
    thresholds: Sequence[ThresholdRow]
    suggested: float | None

    @property
    def measured(self) -> int:
        """The number of questions asked."""
        return self.answerable + self.unanswerable


@dataclass(frozen=True, slots=True)
class _Judged:
    """The first answer to a marked question: whether it is given and right, and its confidence, which is 1 if computed."""

    answerable: bool
    is_given: bool
    right: bool
    confidence: float | None


def measure_marks(
    index: str | Path,
    *,
    quality: Quality | None = None,
    reader: str | Path | None = "auto",
    span_reranker: str | Path | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> MarksReport:
    """Ask an index its marked questions like ``oreqa ask``, except for corrected answers, and judge the first answers.

    One is right if it says the same as the marked one, as judged by ``evaluate_openqa``, or is contained in it. Raises
    InputError for an index without marks, or with damaged ones, and whatever ``Answerer.load`` raises.
    """
    folder = as_index_folder(index)
    marks = _need_marks(folder)
    undecided = read_marks(folder, UNDECIDED_FILE)
    models = Answerer.load(folder, device, quality=quality, reader=reader, span_reranker=span_reranker, marks=False)
    with models as answerer:
        placed = {mark.id for mark, _ in place_marks(marks, answerer.index.passages())}
        usable = [mark for mark in marks if mark.id in placed or not mark.answers]
        calibration = answerer.calibration
        judged = _judged(answerer, usable, progress)
    counts = Counter(mark.verdict for mark in (*marks, *undecided))
    threshold = None if calibration is None else round(calibration.threshold, 4)
    rows = [] if threshold is None else [_row(step, judged) for step in sorted({*STEPS, threshold})]
    answerable = [each for each in judged if each.answerable]
    right = sum(each.is_given and each.right for each in answerable)
    refused = sum(not each.is_given for each in answerable)
    withheld = [not each.is_given for each in judged if not each.answerable]
    return MarksReport(
        {verdict: counts[verdict] for verdict in VERDICTS},
        len(marks) - len(usable),
        len(answerable),
        right,
        len(answerable) - right - refused,
        refused,
        len(withheld),
        sum(withheld),
        threshold,
        rows,
        _suggested(rows, threshold, len(judged)),
    )


def write_marks(index: str | Path, out: str | Path, kind: MarkedKind = "questions") -> int:
    """Write an index's marks as data for evaluation, fitting or training, by ``MarkedKind``; return their number.

    Marks whose passage is gone from the index are dropped, and, except for a question list, those without an answer. Raises
    InputError for an index without marks, or with damaged ones, and for a file that exists or cannot be written.
    """
    folder, path = as_index_folder(index), as_path(out, "out")
    choice(kind, ("questions", "pairs", "squad"), "kind")
    need_marked_file(path, kind)
    need_new(path, "write it anew")
    marks = _need_marks(folder)
    with Index.open(folder) as opened:
        placed = place_marks(marks, opened.passages())
    return write_marked(path, kind, marks, placed)


def _need_marks(folder: Path) -> list[Mark]:
    require_generation(folder)
    marks = read_marks(folder)
    if not marks:
        raise InputError(f"{folder}: it has no marks that say what is right; set some in the page of oreqa serve")
    return marks


def _judged(answerer: Answerer, marks: Sequence[Mark], progress: Progress) -> list[_Judged]:
    judged = []
    with show(progress, "asking marked questions", len(marks)) as advance:
        for begin in range(0, len(marks), CHUNK):
            batch = marks[begin : begin + CHUNK]
            for mark, reply in zip(batch, answerer.reply([mark.question for mark in batch], 1), strict=True):
                first = reply.answers[0] if reply.answers else reply.best
                confidence = None if first is None else 1.0 if first.computation else first.confidence
                right = first is not None and _is_right(first, mark)
                judged.append(_Judged(bool(mark.answers), bool(reply.answers), right, confidence))
            advance(len(batch))
    return judged


def _is_right(answer: Answer, mark: Mark) -> bool:
    if not mark.answers:
        return False
    if is_right(answer.text, OpenQuestion(mark.id, mark.question, mark.answers)):
        return True
    start, end = (place - answer.passage.start for place in (answer.start, answer.end))
    is_same = (answer.passage.document_key, answer.passage.text) == (mark.document, mark.context)
    return is_same and mark.start <= start < end <= mark.start + len(mark.answers[0])


def _row(threshold: float, judged: Sequence[_Judged]) -> ThresholdRow:
    shown = [each.confidence is not None and each.confidence >= threshold for each in judged]
    right = sum(each.right for each, is_shown in zip(judged, shown, strict=True) if is_shown)
    sides = sum(each.right == is_shown for each, is_shown in zip(judged, shown, strict=True))
    return ThresholdRow(threshold, sum(shown), right, sides)


def _suggested(rows: Sequence[ThresholdRow], threshold: float | None, questions: int) -> float | None:
    """Return the threshold with the most first answers on its right side, the nearest of ties; None if it is current."""
    if threshold is None or questions < FEWEST_TO_SUGGEST:
        return None
    best = max(rows, key=lambda row: (row.right_side, -abs(row.threshold - threshold)))
    return None if best.threshold == threshold else best.threshold
