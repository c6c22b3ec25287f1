"""A regression test for an index: users' own questions, asked again, and what changed since the baseline."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from oreqa.answer import Answer
from oreqa.answering.answerer import Answerer
from oreqa.answering.reply import Reply
from oreqa.arguments import as_index_folder, as_path, share
from oreqa.datasets.load import load_question_file
from oreqa.datasets.marks import question_id
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import Quality
from oreqa.errors import InputError
from oreqa.evaluation.junit import need_junit_file, write_junit
from oreqa.evaluation.open_scores import is_right
from oreqa.evaluation.outcomes import OUTCOMES, AskedQuestion, Outcome, RegressionReport
from oreqa.files import need, need_writable, read_jsonl, write_jsonl
from oreqa.models.reader.reader import CHUNK
from oreqa.paths import full_path
from oreqa.progress import Progress, no_progress, show


def regression_test(
    questions: str | Path,
    index: str | Path,
    *,
    baseline: str | Path | None = None,
    save: bool = False,
    minimum: float | None = None,
    junit: str | Path | None = None,
    quality: Quality | None = None,
    reader: str | Path | None = "auto",
    threshold: float | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> RegressionReport:
    """Ask an index a file's questions like ``oreqa ask``, judge the first answers, and compare them with the baseline.

    The ``questions`` are any data with answers, as for ``evaluate_openqa``; those with an empty list of answers should
    be refused. An answer is right if it equals an accepted one, or contains one and is at most three times as long in
    words. The ``baseline`` is a file with one row per question, by default ``NAME.baseline.jsonl`` next to the
    questions, written by the first run. ``save`` replaces it by this run. With a ``minimum``, the test passes if at
    least that share of questions passes, whatever the baseline says. ``junit`` is a file to write as JUnit XML. All
    files are written atomically at the end.

    Raises InputError for data that cannot be read, a repeated question, a named baseline that does not exist, and files that
    cannot be written, and whatever ``Answerer.load`` raises.
    """
    file, folder = as_path(questions, "questions"), as_index_folder(index)
    minimum = None if minimum is None else share(minimum, "minimum")
    by_id = _questions(file)
    kept = _default_baseline(file) if baseline is None else as_path(baseline, "baseline")
    is_first = not kept.exists()
    if is_first and baseline is not None and not save:
        raise InputError(f"{kept}: there is no such baseline; write it with --save, and keep it beside the questions")
    before = {} if is_first else _read_baseline(kept)
    if not (before or is_first or save):
        raise InputError(f"{kept}: the baseline holds no question; restore the file, or write it anew with --save")
    if save or is_first:
        need_writable(kept, str(kept))
    report_file = None if junit is None else as_path(junit, "junit")
    if report_file is not None:
        need_junit_file(report_file)
        if full_path(report_file) == full_path(kept):
            raise InputError(f"{kept}: it is the baseline; name another file for JUnit")
    started = time.monotonic()
    with Answerer.load(folder, device, quality=quality, reader=reader) as answerer:
        replies = _replies(answerer, [question.text for question in by_id.values()], threshold, progress)
    rows = tuple(
        _row(question, reply, before.get(key)) for (key, question), reply in zip(by_id.items(), replies, strict=True)
    )
    if save or is_first:
        write_jsonl(kept, ({"question": r.question, "outcome": r.outcome, "answer": r.given_answer} for r in rows))
    dropped = len(before.keys() - by_id.keys())
    report = RegressionReport(rows, str(kept), is_first, save or is_first, dropped, minimum, time.monotonic() - started)
    if report_file is not None:
        write_junit(report_file, file.name, report)
    return report


def _questions(file: Path) -> dict[str, OpenQuestion]:
    """Return the questions of a file by an id that equal ones share, so that rows may be moved."""
    by_id: dict[str, OpenQuestion] = {}
    for question in load_question_file(file).questions:
        if (other := by_id.setdefault(question_id(question.text), question)) is not question:
            raise InputError(
                f"{file}: {question.text[:80]!r} is asked twice (ids {other.id} and {question.id}): keep one of the rows, "
                "with all accepted answers"
            )
    if not by_id:
        raise InputError(f"{file}: it holds no question")
    return by_id


def _default_baseline(file: Path) -> Path:
    name = Path(file.name.removesuffix(".gz")).stem
    return file.with_name(f"{name}.baseline.jsonl")


def _read_baseline(file: Path) -> dict[str, tuple[Outcome, str]]:
    """Return the outcome of each question, and its answer. Raises InputError for a file that is no baseline."""
    kept = {}
    for number, row in read_jsonl(file):
        where = f"{file}, line {number}"
        outcome = row.get("outcome")
        if outcome not in OUTCOMES:
            raise InputError(f"{where}: it is no baseline of oreqa test: its outcome is not one of {', '.join(OUTCOMES)}")
        kept[question_id(need(row, "question", str, where))] = outcome, need(row, "answer", str, where)
    return kept


def _replies(answerer: Answerer, questions: Sequence[str], threshold: float | None, progress: Progress) -> list[Reply]:
    replies: list[Reply] = []
    with show(progress, "answering questions", len(questions)) as advance:
        for begin in range(0, len(questions), CHUNK):
            batch = questions[begin : begin + CHUNK]
            replies += answerer.reply(batch, threshold=threshold)
            advance(len(batch))
    return replies


def _row(question: OpenQuestion, reply: Reply, before: tuple[Outcome, str] | None) -> AskedQuestion:
    first = reply.answers[0] if reply.answers else None
    shown = first or reply.guess
    accepted = question.answers or ((question.pattern,) if question.pattern is not None else ())
    return AskedQuestion(
        question.id,
        question.text,
        tuple(dict.fromkeys(accepted)),
        _outcome(question, first),
        "" if shown is None else _text(shown),
        "" if shown is None else shown.passage.address(shown.start),
        None if shown is None else shown.confidence,
        *(before or (None, "")),
    )


def _outcome(question: OpenQuestion, answer: Answer | None) -> Outcome:
    if answer is None:
        return "refused" if question.is_answerable else "rightly refused"
    if not question.is_answerable:
        return "wrong"
    return "right" if any(is_right(text, question) for text in (answer.text, _text(answer))) else "wrong"


def _text(answer: Answer) -> str:
    """Return what ``oreqa ask`` shows as the answer: its text, or its block."""
    return answer.block.text if answer.form == "block" and answer.block else answer.text
