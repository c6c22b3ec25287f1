"""``oreqa data``: shows what a file of questions and answers contains."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.held_out import say_held_out
from oreqa.cli.options import Option, data_option
from oreqa.cli.output import counted, print_json, say

if TYPE_CHECKING:
    from oreqa.datasets.counts import DataCounts

KIND_NAMES = {
    "squad": "SQuAD file",
    "mrqa": "MRQA file",
    "beir": "BEIR folder",
    "pairs": "pairs",
    "questions": "list of questions",
}


@app.command(cls=Command, rich_help_panel=Panel.DATA)
def data(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="SQuAD, MRQA, pairs, a list of questions, or a BEIR folder.", show_default=False
        ),
    ],
    sentences: Annotated[
        Path | None,
        data_option(metavar="FILE", help="Sentence boundaries of the candidates.", show_default="oreqa's splitter"),
    ] = None,
    split: Option.split = "test",
    as_json: Option.as_json = False,
) -> None:
    """Count the questions and answers in data, the answers per question, and the questions per answer.

    Answers are the sentences that answer; documents in a BEIR folder; texts in a list of questions.

    [bold]oreqa data dev.json[/bold]
    """
    from oreqa.datasets.counts import count_data

    counts = count_data(file, sentences=sentences, split=split)
    if as_json:
        means = {name: round(getattr(counts, name), 4) for name in ("answers_a_question", "questions_an_answer")}
        print_json({"data": str(file), **asdict(counts), **means})
    else:
        _print_counts(file, counts)


def _print_counts(file: Path, counts: DataCounts) -> None:
    say(f"{file}: {KIND_NAMES[counts.kind]}")
    if counts.kind == "beir":
        say(counted(counts.passages or 0, "document"))
    elif counts.passages is not None:
        say(f"{counted(counts.passages, 'paragraph')}, {counted(counts.candidates or 0, 'sentence')}")
    without = f", {counts.unanswered:,} more without an answer" if counts.unanswered else ""
    say(f"{counted(counts.questions, 'question')}{without}")
    say_held_out(file)
    say(f"{counted(counts.answers, 'answer')}, {counted(counts.pairs, 'pair')} of question and answer")
    say(f"{counts.answers_a_question:.2f} answers a question, {counts.questions_an_answer:.2f} questions an answer")
