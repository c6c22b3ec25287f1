"""``oreqa eval``: evaluates on tasks with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import oreqa.evaluation
from oreqa.cli.application import CommandGroup, Panel, app
from oreqa.cli.held_out import say_held_out
from oreqa.cli.options import Option, data_option, number_option
from oreqa.cli.output import counted, print_json, say, visible
from oreqa.cli.runs import runs

evaluate = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Measure a task.")
app.add_typer(evaluate, name="eval", rich_help_panel=Panel.RUN)


@runs(
    evaluate,
    lambda: oreqa.evaluation.evaluate_reqa,
    data=Option.squad,
    out=Option.run,
    sentences=Annotated[
        Path | None,
        data_option(metavar="FILE", help="Sentence boundaries of the candidates.", show_default="oreqa's splitter"),
    ],
    index=Option.run_index,
    min_questions=Annotated[
        int, number_option(help="Ask only about answer sentences that have at least this many questions.")
    ],
)
def reqa(summary: dict[str, Any], data: Path, held_out: bool, out: Path, as_json: bool) -> None:
    """Retrieve the answer sentence among all sentences (ReQA, MultiReQA).

    [bold]oreqa eval reqa --data dev.json --mode hybrid --out runs/dev[/bold]
    """
    _print_run(summary, out, as_json)
    if held_out and not as_json:
        say_held_out(data, held_out)


@runs(
    evaluate,
    lambda: oreqa.evaluation.evaluate_beir,
    data=Annotated[Path, data_option(metavar="DIR", help="BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.")],
    out=Option.run,
    index=Option.run_index,
)
def beir(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    """Retrieve documents for judged questions (BEIR).

    [bold]oreqa eval beir --data selqa --split test --out runs/selqa[/bold]
    """
    _print_run(summary, out, as_json)


@runs(
    evaluate,
    lambda: oreqa.evaluation.evaluate_classifier,
    data=Annotated[Path, data_option(metavar="FILE", help="Pairs with negatives (.jsonl), from oreqa mine negatives.")],
    out=Option.run,
)
def classifier(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    """Separate answers from other sentences: accuracy and AUC-PR, against guessing and the dual encoder's cosine.

    [bold]oreqa eval classifier --data pairs.jsonl --classifier runs/classifier --out runs/classified[/bold]
    """
    _print_run(summary, out, as_json)


@runs(
    evaluate,
    lambda: oreqa.evaluation.evaluate_generator,
    data=Option.squad,
    out=Option.run,
)
def generator(summary: dict[str, Any], data: Path, held_out: bool, out: Path, as_json: bool) -> None:
    """Compare generated questions with those that people asked about the same answers: ROUGE-L and BLEU-4.

    [bold]oreqa eval generator --data dev.json --out runs/generated[/bold]
    """
    _print_run(summary, out, as_json)
    if held_out and not as_json:
        say_held_out(data, held_out)


@runs(
    evaluate,
    lambda: oreqa.evaluation.evaluate_openqa,
    data=Annotated[
        Path,
        data_option(metavar="FILE", help="Questions with answers: SQuAD, MRQA, CSV, TSV, .xlsx, or rows (.jsonl)."),
    ],
    out=Option.run,
    index=Option.run_index,
)
def openqa(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    """Answer questions from all paragraphs: EM, F1, and the accuracy of retrieval.

    Questions are asked of all paragraphs of the data; questions without paragraphs, of your own index (--index). If some
    questions have no answer, as in SQuAD 2.0, or rows name a document, they are answered as by oreqa ask, which may find no
    answer, and the confidence is measured, too.

    [bold]oreqa eval openqa --data dev.json --out runs/open[/bold]
    """
    _print_run(summary, out, as_json)


@runs(
    evaluate,
    lambda: oreqa.evaluation.evaluate_answers,
    predictions=Annotated[Path, data_option(metavar="FILE", help="JSON object: question id to answer.")],
    gold=Annotated[
        Path,
        data_option(metavar="FILE", help="SQuAD file, 1.1 or 2.0, or a list of questions: CSV, TSV, .xlsx, JSON lines."),
    ],
)
def answers(metrics: dict[str, Any], predictions: Path, as_json: bool) -> None:
    """Score a predictions file as SQuAD's official scripts do: exact match and F1.

    [bold]oreqa eval answers --predictions predictions.json --gold dev.json[/bold]
    """
    if as_json:
        print_json(metrics)
    else:
        _print_answers(predictions.name, metrics)


def _print_run(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    """Print a run's metrics.json, or its metrics as a table."""
    if as_json:
        print_json(summary)
        return
    from rich.table import Column, Table

    from oreqa.cli.console import Console
    from oreqa.evaluation.metrics import MEANING
    from oreqa.evaluation.report import run_title

    shown = [name for name in MEANING if name in summary]
    console, percentages = Console(), [f"{summary[name]:.2f}" for name in shown]
    if sum(len(name) + 3 for name in shown) < console.width:
        table = Table(*(Column(name, justify="right") for name in shown))
        table.add_row(*percentages)
    else:  # long names would be cut off in columns
        table = Table("metric", Column("percent", justify="right"))
        for row in zip(shown, percentages, strict=True):
            table.add_row(*row)
    say(run_title(summary))
    console.print(table)
    files = ["metrics.json", "per_question.jsonl", "run.trec", "report.html"]
    files += ["predictions.json"] if (out / "predictions.json").is_file() else []
    say(f"written to {out}: {', '.join(files)}")


def _print_answers(name: str, metrics: dict[str, Any]) -> None:
    from rich.table import Table

    from oreqa.cli.console import Console

    table = Table(title=f"{visible(name)}: {counted(metrics['questions'], 'question')}", title_justify="left")
    for column in ("questions", "em", "f1"):
        table.add_column(column, justify="right")
    kinds = [("", "questions"), *((f"{kind}_", kind) for kind in ("answerable", "unanswerable") if kind in metrics)]
    for prefix, kind in kinds:
        count = f"{metrics[kind]:,}" if not prefix else f"{metrics[kind]:,} {kind}"
        table.add_row(count, *(f"{metrics[prefix + key]:.2f}" for key in ("em", "f1") if prefix + key in metrics))
    Console().print(table)
    if metrics["missing"]:
        say(f"without a prediction: {counted(metrics['missing'], 'question')}", err=True)
