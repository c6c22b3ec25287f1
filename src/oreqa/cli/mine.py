"""``oreqa mine``: make training data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.application import app
from oreqa.cli.options import (
    ClassifierOption,
    CountOption,
    DeviceOption,
    DrawOption,
    HeldOutFlag,
    IndexOption,
    JsonFlag,
    ModelOption,
    ModeOption,
    OutFileOption,
    PrecisionOption,
    ReaderOption,
    SeedOption,
    SplitOption,
    TaskOption,
    WorkOption,
)
from oreqa.cli.output import one_line, print_json, read_lines, say
from oreqa.cli.progress import progress_bar
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER

if TYPE_CHECKING:
    from oreqa.mining.silver import SilverPairs

mine = typer.Typer(no_args_is_help=True, help="Make training data.")
app.add_typer(mine, name="mine")


@mine.command()
def negatives(
    data: TaskOption,
    out: OutFileOption,
    split: SplitOption = "train",
    held_out: HeldOutFlag = False,
    draw: DrawOption = None,
    work: WorkOption = None,
    model: ModelOption = DEFAULT_ENCODER,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Pair each question with its answer and three sentences that do not answer it, to train a classifier.

    One is drawn from BM25's ten best sentences, one from the ten nearest vectors, one from the answer's own document.

    [bold]oreqa mine negatives --data train.json --out runs/pairs.jsonl[/bold]
    """
    from oreqa.mining import mine_negatives

    pairs = mine_negatives(
        data,
        out,
        split=split,
        held_out=held_out,
        draw=draw,
        work=work,
        model=model,
        seed=seed,
        device=device,
        progress=progress_bar,
    )
    count = sum(len(pair.negatives) for pair in pairs)
    if as_json:
        print_json({"pairs": len(pairs), "negatives": count, "out": str(out)})
    else:
        say(f"{len(pairs):,} pairs with {count:,} negatives in {out}")


@mine.command()
def silver(
    out: OutFileOption,
    data: Annotated[Path | None, typer.Option(help="Questions and documents: SQuAD or MRQA file, or BEIR folder.")] = None,
    questions: Annotated[Path | None, typer.Option(help="Questions without answers, one a line; needs --index.")] = None,
    index: Annotated[Path | None, typer.Option("--index", help="Index of the documents, with --questions.")] = None,
    classifier: ClassifierOption = DEFAULT_CLASSIFIER,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="Sentences retrieved for each question.")] = 10,
    mode: ModeOption = "hybrid",
    min_probability: Annotated[
        float, typer.Option(min=0, max=1, help="Keep sentences of at least this probability; 0 for soft labels.")
    ] = 0.5,
    split: SplitOption = "train",
    held_out: HeldOutFlag = False,
    draw: DrawOption = None,
    seed: SeedOption = 0,
    work: WorkOption = None,
    model: ModelOption = DEFAULT_ENCODER,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Find unlabelled answers: retrieved sentences that a classifier accepts, as more pairs to train on.

    Works on questions with answers (--data), which are kept as they are, and on questions without (--questions and
    --index). The file can be read and edited. An interrupted run resumes when started again.

    [bold]oreqa mine silver --data train.json --classifier runs/classifier --out runs/silver.jsonl[/bold]
    """
    from oreqa.mining import mine_silver

    mined = mine_silver(
        out,
        data=data,
        questions=None if questions is None else read_lines(questions),
        index=index,
        classifier=classifier,
        k=k,
        mode=mode,
        min_probability=min_probability,
        split=split,
        held_out=held_out,
        draw=draw,
        seed=seed,
        work=work,
        model=model,
        device=device,
        progress=progress_bar,
    )
    if as_json:
        counts = {source: len(mined.of_source(source)) for source in ("gold", "silver")}
        print_json({"questions": mined.questions, **counts, "out": str(out)})
    else:
        _print_silver(mined, min_probability, out)


def _print_silver(mined: SilverPairs, min_probability: float, out: Path) -> None:
    from oreqa.mining.silver import LIKELY

    bar, gold = max(min_probability, LIKELY), len(mined.of_source("gold"))
    likely = [row for row in mined.of_source("silver") if row["score"] >= bar]
    gain = f", {len(likely) / gold:.0%} more than the {gold:,} gold ones" if gold else ""
    counts = f"{len(likely):,} silver pairs of p >= {bar:g} for {mined.questions:,} questions{gain}"
    say(f"{counts}; {len(mined.rows):,} rows in {out}")
    if likely:
        _print_sample(likely)


def _print_sample(rows: list[dict[str, Any]]) -> None:
    """Ten pairs, evenly spread over the probabilities."""
    from rich.table import Table
    from rich.text import Text

    from oreqa.cli.console import Console

    ranked = sorted(rows, key=lambda row: -row["score"])
    table = Table(box=None, pad_edge=False, expand=True)
    table.add_column("p", justify="right", style="green")
    table.add_column("rank", justify="right", style="dim")
    table.add_column("question", ratio=2)
    table.add_column("answer", ratio=3)
    for row in ranked[:: max(1, len(ranked) // 10)][:10]:
        question, answer = one_line(row["question"]), one_line(row["answer"], 200)
        table.add_row(f"{row['score']:.2f}", str(row["rank"]), Text(question), Text(answer))
    Console().print(table)


@mine.command()
def predictions(
    data: Annotated[
        list[Path],
        typer.Option(help="SQuAD or MRQA file, or rows {question, answers | pattern} (.jsonl); may be repeated."),
    ],
    out: OutFileOption,
    reader: ReaderOption = DEFAULT_READER,
    index: Annotated[
        Path | None,
        typer.Option("--index", help="Index to search for rows; BM25 searches the paragraphs of a file."),
    ] = None,
    passages: Annotated[int, typer.Option(min=1, help="Passages retrieved for each question.")] = 5,
    k: Annotated[int, typer.Option("-k", min=2, help="Spans kept for each question.")] = 100,
    questions: CountOption = None,
    seed: SeedOption = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep a reader's best spans for training questions, right and wrong, to train a span re-ranker.

    Held-out articles are left out. An interrupted run resumes when started again.

    [bold]oreqa mine predictions --data train.json --reader runs/reader --out runs/predictions.jsonl[/bold]
    """
    from oreqa.mining import mine_predictions

    count = mine_predictions(
        data,
        out,
        reader=reader,
        index=index,
        passages=passages,
        k=k,
        questions=questions,
        seed=seed,
        device=device,
        progress=progress_bar,
    )
    if as_json:
        print_json({"questions": count, "out": str(out)})
    else:
        say(f"{count:,} questions in {out}")


@mine.command()
def cloze(
    out: OutFileOption,
    data: Annotated[Path | None, typer.Option(help="Documents: SQuAD or MRQA file, or BEIR folder.")] = None,
    index: Annotated[Path | None, typer.Option("--index", help="Index of the documents.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Sentences drawn from each passage.")] = 1,
    kept: Annotated[float, typer.Option(min=0, max=1, help="Share of the passages that keep their sentence.")] = 0.1,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Make pairs from documents alone: a sentence as the question, its passage without it as the answer.

    This is the inverse cloze task, to pretrain a retriever (unit=passage) without questions.

    [bold]oreqa mine cloze --index kb --out runs/cloze.jsonl[/bold]
    """
    from oreqa.mining import mine_cloze

    count = mine_cloze(out, data=data, index=index, draws=draws, kept=kept, seed=seed, progress=progress_bar)
    if as_json:
        print_json({"pairs": count, "out": str(out)})
    else:
        say(f"{count:,} pairs in {out}")


@mine.command()
def definitions(
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="File to write: pairs (.jsonl) or SQuAD (.json).")],
    index: IndexOption,
    seed: SeedOption = 0,
    as_json: JsonFlag = False,
) -> None:
    """Make questions from lists of options, settings and commands: each description asks for its name.

    No model is needed. The pairs train a retriever, the SQuAD file a reader, for manuals like those of the index.

    [bold]oreqa mine definitions --index kb --out runs/definitions.json[/bold]
    """
    from oreqa.generation import mine_definitions

    count = mine_definitions(out, index=index, seed=seed, progress=progress_bar)
    if as_json:
        print_json({"questions": count, "out": str(out)})
    else:
        say(f"{count:,} questions in {out}")
