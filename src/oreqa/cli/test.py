"""``oreqa test``: users' own questions as a regression test, for people and CI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import oreqa.evaluation
from oreqa.cli.application import Panel, app
from oreqa.cli.hits import shown_path
from oreqa.cli.options import Option, data_option, model_here_or_none, model_option, share_option
from oreqa.cli.output import counted, one_line, print_json, say
from oreqa.cli.runs import runs

if TYPE_CHECKING:
    from oreqa.evaluation.outcomes import AskedQuestion, RegressionReport

SHOWN_ANSWER = 100
"""Characters shown of an answer, expected or actual."""

TITLES = {
    "worse": ("No longer right", "red"),
    "new": ("New, and not right", "yellow"),
    "otherwise": ("Still not right, but answered differently", "yellow"),
    "better": ("Now right", "green"),
}
"""The groups of changes, and their colours."""


@runs(
    app,
    lambda: oreqa.evaluation.regression_test,
    Panel.RUN,
    questions=Annotated[
        Path, typer.Argument(metavar="FILE", help="Questions with their answers; none where the documents hold none.")
    ],
    index=Option.index,
    baseline=Annotated[
        Path | None,
        data_option(
            metavar="FILE",
            dir_okay=False,
            help="The run to compare with. One that is named must exist, unless --save writes it.",
            show_default="NAME.baseline.jsonl beside FILE; the first run writes it",
        ),
    ],
    save=Annotated[bool, data_option("--save", help="Make this run the baseline.")],
    minimum=Annotated[
        float | None,
        share_option(
            help="Fail only if less than this share of the questions is right.",
            show_default="fail if one that was right no longer is",
        ),
    ],
    junit=Annotated[Path | None, data_option(metavar="FILE", dir_okay=False, help="Write JUnit XML, for CI servers.")],
    reader=Annotated[
        str | None,
        model_option(
            "--reader",
            callback=model_here_or_none,
            help="Reader: a name, a folder, none to answer with sentences, or auto for that of --quality.",
        ),
    ],
    threshold=Option.lowest_confidence,
)
def test(report: RegressionReport, questions: Path, as_json: bool) -> None:
    """Ask your own questions again, and fail if one that was right no longer is.

    The file has questions with their answers: CSV, TSV, .xlsx, JSON lines or SQuAD. Questions without an answer should be
    refused. They are answered as by oreqa ask, and the first answer is right if it equals an accepted one, or contains one
    and is not much longer. The exit code is 0 if the test passes, else 1.

    [bold]oreqa test questions.csv --index kb[/bold]

    [bold]oreqa test questions.csv --index kb --baseline questions.baseline.jsonl --junit report.xml[/bold]
    """
    from oreqa.evaluation.outcomes import changes

    if as_json:
        print_json(
            {
                "passed": report.passed,
                "passing": report.passing,
                "outcomes": report.outcomes,
                **asdict(report),
                "questions": [_row(question) for question in report.questions],
            }
        )
    else:
        groups = changes(report.questions)
        for name, (title, colour) in TITLES.items():
            _print_group("Not right" if report.is_first else title, colour, groups[name])
        _print_totals(questions, report, {name: len(group) for name, group in groups.items()})
    if not report.passed:
        raise typer.Exit(1)


def _row(question: AskedQuestion) -> dict[str, object]:
    return {**asdict(question), "passes": question.passes, "is_worse": question.is_worse}


def _print_group(title: str, colour: str, questions: Sequence[AskedQuestion]) -> None:
    from rich.text import Text

    from oreqa.cli.console import Console, Indented

    if not questions:
        return
    console = Console()
    console.print(Text(f"{title}: {len(questions):,}", f"bold {colour}"))
    for question in questions:
        console.print(Indented(Text(one_line(question.question)), 2))
        for name, value in _lines(question):
            console.print(Indented(Text.assemble((f"{name:10}", "dim"), value), 6), crop=False)
    console.print()


def _lines(question: AskedQuestion) -> list[tuple[str, str]]:
    """Return the expected answer, what came instead and its place, and what came before."""
    lines = [("expected", one_line(" | ".join(question.expected) or "no answer: the documents hold none", SHOWN_ANSWER))]
    answer = one_line(question.answer, SHOWN_ANSWER)
    if question.outcome == "refused":
        lines.append(("given", f"no answer; best guess: {answer}" if answer else "no answer"))
    elif question.outcome != "rightly refused":
        lines.append(("given", answer))
    if question.place and question.outcome != "rightly refused":
        lines.append(("place", one_line(shown_path(question.place))))
    if question.before is not None and not (question.passes and question.outcome == "rightly refused"):
        before = one_line(question.answer_before, SHOWN_ANSWER) or "no answer"
        lines.append(("before", f"{before} ({question.before})"))
    return lines


def _print_totals(questions: Path, report: RegressionReport, changed: dict[str, int]) -> None:
    number = len(report.questions)
    parts = ", ".join(f"{count:,} {outcome}" for outcome, count in report.outcomes.items() if count)
    say(f"{questions}: {counted(number, 'question')}: {parts}; {100 * report.passing / number:.1f}% are right")
    if report.is_first:
        say(f"no run was kept before; this one is the baseline now: {report.baseline}")
    else:
        words = {"worse": "no longer right", "better": "now right", "new": "new and not right"}
        differences = ", ".join(f"{changed[name]:,} {text}" for name, text in words.items() if changed[name])
        dropped = f", {report.dropped:,} no longer asked" if report.dropped else ""
        say(f"against {report.baseline}: {differences or 'nothing changed for better or worse'}{dropped}")
        if report.is_saved:
            say("this run is the baseline now")
        elif changed["worse"] + changed["better"] + changed["new"] + report.dropped:
            say("to keep this run as the baseline: add --save")
    if report.minimum is not None:
        say(f"{'reached' if report.passed else 'missed'}: at least {100 * report.minimum:g}% right")
