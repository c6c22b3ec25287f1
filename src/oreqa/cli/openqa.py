"""``oreqa eval openqa`` and ``oreqa eval answers``: measure answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from oreqa.cli.evaluate import evaluate
from oreqa.cli.options import (
    CountOption,
    DeviceOption,
    HitRerankerOption,
    JsonFlag,
    ModelOption,
    OutOption,
    PrecisionOption,
    ReaderOption,
    RerankHitsOption,
    SeedOption,
    SpanRerankerOption,
    TaskIndexOption,
)
from oreqa.cli.output import model_or_none, print_json, say, visible
from oreqa.cli.progress import progress_bar
from oreqa.cli.runs import print_run
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER
from oreqa.errors import InputError


@evaluate.command()
def openqa(
    data: Annotated[Path, typer.Option(help="Questions: SQuAD or MRQA, or rows {question, answers | pattern} (.jsonl).")],
    out: OutOption,
    gold_passages: Annotated[
        bool, typer.Option("--gold-passages", help="Read each question's own paragraph instead of retrieving.")
    ] = False,
    passages: Annotated[int, typer.Option(min=1, max=100, help="Passages read for each question.")] = 5,
    reader: ReaderOption = DEFAULT_READER,
    span_reranker: SpanRerankerOption = None,
    rerank_hits: RerankHitsOption = 0,
    hit_reranker: HitRerankerOption = DEFAULT_CLASSIFIER,
    null: Annotated[
        float | None,
        typer.Option(help="SQuAD 2.0: give no answer where the passage's log-odds of holding one are below this."),
    ] = None,
    combine: Annotated[
        list[str] | None,
        typer.Option(help="Change a weight of the score: name=value, e.g. reranking=0.5 or alone=1."),
    ] = None,
    model: ModelOption = DEFAULT_ENCODER,
    index: TaskIndexOption = None,
    questions: CountOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer questions from all paragraphs: EM, F1, and the accuracy of retrieval.

    Questions are asked of all paragraphs of the data; questions without paragraphs, of your own index (--index). If there
    are questions without an answer, as in SQuAD 2.0, or rows that name a document, they are answered as oreqa ask does,
    which may find no answer, and the confidence is measured, too.

    [bold]oreqa eval openqa --data dev.json --out runs/open[/bold]
    """
    from oreqa.evaluation import evaluate_openqa

    summary = evaluate_openqa(
        data,
        out,
        gold_passages=gold_passages,
        passages=passages,
        reader=reader,
        span_reranker=model_or_none(span_reranker),
        rerank_hits=rerank_hits,
        hit_reranker=hit_reranker,
        null=null,
        combine=_parse_weights(combine or ()),
        model=model,
        index=index,
        questions=questions,
        seed=seed,
        device=device,
        progress=progress_bar,
    )
    print_run(summary, out, as_json)


@evaluate.command()
def answers(
    predictions: Annotated[Path, typer.Option(help="JSON object: question id to answer.")],
    gold: Annotated[Path, typer.Option(help="SQuAD file, 1.1 or 2.0, plain or gzipped.")],
    as_json: JsonFlag = False,
) -> None:
    """Score a predictions file as SQuAD's official scripts do: exact match and F1.

    [bold]oreqa eval answers --predictions predictions.json --gold dev.json[/bold]
    """
    from oreqa.evaluation import evaluate_answers

    metrics = evaluate_answers(predictions, gold)
    if as_json:
        print_json(metrics)
    else:
        _print_answers(predictions.name, metrics)


def _print_answers(name: str, metrics: dict[str, Any]) -> None:
    from rich.table import Table

    from oreqa.cli.console import Console

    table = Table(title=f"{visible(name)}: {metrics['questions']:,} questions", title_justify="left")
    for column in ("questions", "em", "f1"):
        table.add_column(column, justify="right")
    kinds = [("", "questions"), *((f"{kind}_", kind) for kind in ("answerable", "unanswerable") if kind in metrics)]
    for prefix, kind in kinds:
        count = f"{metrics[kind]:,}" if not prefix else f"{metrics[kind]:,} {kind}"
        table.add_row(count, *(f"{metrics[prefix + key]:.2f}" for key in ("em", "f1") if prefix + key in metrics))
    Console().print(table)
    if metrics["missing"]:
        say(f"{metrics['missing']:,} questions have no prediction", err=True)


def _parse_weights(changes: Sequence[str]) -> dict[str, float]:
    """``name=value`` options as a mapping. Raises InputError for a value that is not a number."""
    weights = {}
    for change in changes:
        name, _, text = change.partition("=")
        try:
            weights[name] = float(text)
        except ValueError:
            raise InputError(f"--combine {change!r}: write a number, as in {name}=0.5") from None
    return weights
