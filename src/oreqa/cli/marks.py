"""``oreqa marks``: people's judgements of answers, and how good the answers are according to them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import shown_path
from oreqa.cli.options import Option, data_option
from oreqa.cli.output import counted, model_or_none, one_line, print_json, say
from oreqa.cli.progress import progress_bar
from oreqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oreqa.evaluation.marks import MarksReport

WORDS = {"right": "right", "corrected": "corrected", "none": "not in the documents", "wrong": "wrong and not corrected"}


@app.command(cls=Command, rich_help_panel=Panel.RUN)
def marks(
    index: Option.index,
    out: Annotated[
        Path | None,
        data_option(metavar="FILE", dir_okay=False, help="File to write the marks to, instead of measuring by them."),
    ] = None,
    kind: Annotated[
        Literal["questions", "pairs", "squad"] | None,
        data_option(
            metavar="KIND",
            help="Kind of file: questions (eval, fit, adapt), pairs (train retriever), squad (train reader).",
            show_default="questions",
        ),
    ] = None,
    is_list: Annotated[bool, data_option("--list", help="Show the marks, instead of measuring by them.")] = False,
    removed: Annotated[
        str | None,
        data_option("--remove", metavar="QUESTION", help="Remove the marks of this question, given by its text or its id."),
    ] = None,
    quality: Option.quality = None,
    reader: Option.answering_reader = "auto",
    span_reranker: Option.span_reranker = None,
    device: Option.device = "cpu",
    precision: Option.precision = None,
    as_json: Option.as_json = False,
) -> None:
    """Measure an index's answers by the marks that people set in the page of oreqa serve, or write the marks as data.

    The marked questions are asked again: how many first answers are right or refused, how precise they are by threshold,
    and, from 50 marks on, a better threshold if there is one.

    [bold]oreqa marks --index kb[/bold]

    [bold]oreqa marks --index kb --out pairs.jsonl --kind pairs[/bold]

    [bold]oreqa marks --index kb --remove "How tall is the tower?"[/bold]
    """
    from oreqa.evaluation import measure_marks

    ways = [name for name, value in (("--out", out), ("--list", is_list), ("--remove", removed)) if value]
    _check_alone(ways, has_models=(quality, reader, span_reranker) != (None, "auto", None))
    if kind is not None and out is None:
        raise InputError("--kind is that of the file to write: name it with --out")
    if out is not None:
        return _write(index, out, kind or "questions", as_json)
    if is_list:
        return _list_marks(index, as_json)
    if removed is not None:
        return _remove(index, removed, as_json)
    report = measure_marks(
        index,
        quality=quality,
        reader=model_or_none(reader),
        span_reranker=span_reranker,
        device=device,
        progress=progress_bar,
    )
    if as_json:
        rows = [{**asdict(row), "precision": row.precision} for row in report.thresholds]
        print_json({"index": str(index), **asdict(report), "thresholds": rows})
    else:
        _print_report(index, report)
    return None


def _check_alone(ways: Sequence[str], has_models: bool) -> None:
    """Raise InputError for several options that each choose an action, and for an action that ignores the models named."""
    if len(ways) > 1:
        raise InputError(f"{' and '.join(ways)}: choose one of them")
    if ways and has_models:
        raise InputError(f"{ways[0]} asks nothing: leave the models out")


def _write(index: Path, out: Path, kind: Literal["questions", "pairs", "squad"], as_json: bool) -> None:
    from oreqa.evaluation import write_marks

    number = write_marks(index, out, kind)
    if as_json:
        print_json({"index": str(index), "out": str(out), "kind": kind, "marks": number})
    else:
        say(f"{counted(number, 'mark')} written to {out}")


def _list_marks(index: Path, as_json: bool) -> None:
    """Show the marks of each question, including those that still need the right answer."""
    from oreqa.datasets.marks import UNDECIDED_FILE, mark_json, read_marks
    from oreqa.index.generations import require_generation

    require_generation(index)
    rows = [*read_marks(index), *read_marks(index, UNDECIDED_FILE)]
    if as_json:
        print_json({"index": str(index), "marks": [mark_json(mark) for mark in rows]})
        return
    for mark in rows:
        place = f" ({one_line(shown_path(mark.document))})" if mark.document else ""
        answer = f": {one_line(mark.answers[0])}{place}" if mark.answers else ""
        say(f"{mark.time[:10]}  {one_line(mark.question)}  {WORDS[mark.verdict]}{answer}")
    if not rows:
        say(f"{index} has no marks", err=True)


def _remove(index: Path, question: str, as_json: bool) -> None:
    """Remove the marks of a question, which may be given by its id."""
    from oreqa.datasets.marks import question_id, remove_mark
    from oreqa.index.generations import require_generation

    require_generation(index)
    name = next((name for name in (question_id(question), question) if remove_mark(index, name)), None)
    if name is None:
        raise InputError(f"{index} has no mark of the question {one_line(question, 80)!r}: oreqa marks --list shows them")
    if as_json:
        print_json({"index": str(index), "removed": name})
    else:
        say(f"removed what was said of {one_line(question, 80)!r}")


def _print_report(index: Path, report: MarksReport) -> None:
    from oreqa.evaluation.marks import FEWEST_TO_SUGGEST

    number = sum(report.verdicts.values())
    parts = [f"{count:,} {WORDS[verdict]}" for verdict, count in report.verdicts.items() if count]
    say(f"{index}: {counted(number, 'mark')}: {', '.join(parts)}")
    if report.changed:
        say(f"  not measured: {report.changed:,}, since the index does not hold their passage any more, or not as it was")
    at = "" if report.threshold is None else f", at the threshold {report.threshold:g}"
    say(f"asked again now{at}:")
    if report.answerable:
        shares = f"{report.right:,} right, {report.wrong:,} wrong, {report.refused:,} refused"
        say(f"  {counted(report.answerable, 'question')} with an answer: {shares}")
    if report.unanswerable:
        shares = f"{report.rightly_refused:,} refused, {report.unanswerable - report.rightly_refused:,} answered"
        say(f"  {counted(report.unanswerable, 'question')} without an answer: {shares}")
    if not report.thresholds:
        say("these models give no probability here, so there is no threshold to choose: see oreqa fit")
        return
    if report.measured == 1:
        say(f"a threshold is suggested from {FEWEST_TO_SUGGEST} measured marks on")
        return
    say("  threshold   answers   right   precision   right given, wrong withheld")
    for row in report.thresholds:
        precision = "–" if row.precision is None else f"{100 * row.precision:.0f}%"
        now = "  (now)" if row.threshold == report.threshold else ""
        say(f"  {row.threshold:9g} {row.given_answers:9,} {row.right:7,} {precision:>11} {row.right_side:13,}{now}")
    _print_suggestion(report)


def _print_suggestion(report: MarksReport) -> None:
    from oreqa.evaluation.marks import FEWEST_TO_SUGGEST

    sides = {row.threshold: row.right_side for row in report.thresholds}
    if report.measured < FEWEST_TO_SUGGEST:
        say(f"a threshold is suggested from {FEWEST_TO_SUGGEST} measured marks on")
    elif report.suggested is None or report.threshold is None:
        say(f"the threshold {report.threshold:g} is the best of these")
    else:
        say(
            f"suggested: --threshold {report.suggested:g}: {sides[report.suggested]:,} of "
            f"{counted(report.measured, 'first answer')} are given and right, "
            f"or wrong and withheld; {sides[report.threshold]:,} at {report.threshold:g}"
        )
