"""``oreqa mine``: training data that models find."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.application import app
from oreqa.cli.evaluate import ModelOption, ModeOption, settings_for
from oreqa.cli.output import (
    ClassifierOption,
    DeviceOption,
    JsonFlag,
    PrecisionOption,
    ReaderOption,
    one_line,
    print_json,
    read_lines,
    say,
)
from oreqa.cli.progress import progress_bar
from oreqa.cli.search import ModeName

if TYPE_CHECKING:
    from oreqa.datasets.reqa import ReqaTask
    from oreqa.index.search import Index

mine = typer.Typer(no_args_is_help=True, help="Find training data with models.")
app.add_typer(mine, name="mine")


DataOption = Annotated[Path, typer.Option(help="SQuAD or MRQA file, or BEIR folder.")]
SplitOption = Annotated[str, typer.Option(help="Name of the judged questions of a BEIR folder.")]
HeldOutFlag = Annotated[bool, typer.Option("--held-out", help="The held-out tenth of the articles instead of the rest.")]
DrawnOption = Annotated[int | None, typer.Option("--draw", min=1, help="Questions drawn by the seed.", show_default="all")]
WorkOption = Annotated[
    Path | None, typer.Option("--work", help="Keep the index of the data here, to use it again.", show_default="OUT.index")
]


@mine.command()
def negatives(
    data: DataOption,
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="File for the pairs (.jsonl).")],
    split: SplitOption = "train",
    held_out: HeldOutFlag = False,
    draw: DrawnOption = None,
    work: WorkOption = None,
    model: ModelOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Each question with its answer and three sentences that are none: what a classifier learns from.

    One is drawn from BM25's ten best sentences, one from the ten nearest vectors, one from the answer's own document.

    [bold]oreqa mine negatives --data train.json --out runs/pairs.jsonl[/bold]
    """
    from oreqa.datasets.pairs import pair_row
    from oreqa.datasets.tasks import draw_questions
    from oreqa.files import write_jsonl
    from oreqa.mining.negatives import mine_negatives

    task, index = _open(data, split, held_out, work or _beside(out), model, device)
    task = draw_questions(task, draw, seed)
    with progress_bar("drawing negatives", len(task.questions)) as advance:
        pairs = mine_negatives(task, index, seed, advance)
    write_jsonl(out, map(pair_row, pairs))
    count = sum(len(pair.negatives) for pair in pairs)
    if as_json:
        print_json({"pairs": len(pairs), "negatives": count, "out": str(out)})
    else:
        say(f"{len(pairs):,} pairs with {count:,} negatives in {out}")


@mine.command()
def silver(
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="File for the pairs (.jsonl).")],
    data: Annotated[Path | None, typer.Option(help="Questions and documents: SQuAD or MRQA file, or BEIR folder.")] = None,
    questions: Annotated[Path | None, typer.Option(help="Questions without answers, one a line; needs --index.")] = None,
    index: Annotated[Path | None, typer.Option("--index", help="Index of the documents, with --questions.")] = None,
    classifier: ClassifierOption = "minilm-classifier",
    top: Annotated[int, typer.Option(min=1, max=1000, help="Sentences that are retrieved for a question.")] = 10,
    mode: ModeOption = ModeName.hybrid,
    least: Annotated[
        float, typer.Option(min=0, max=1, help="Least probability of a pair that is kept; 0 for soft labels.")
    ] = 0.5,
    split: SplitOption = "train",
    held_out: HeldOutFlag = False,
    draw: DrawnOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    work: WorkOption = None,
    model: ModelOption = None,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Sentences that a classifier takes for answers, among those that a retriever finds: more pairs to train on.

    Works on questions with answers (--data), which are kept as they are, and on questions without (--questions and
    --index). The file can be read and edited. An interrupted run goes on when it is started again.

    [bold]oreqa mine silver --data train.json --classifier runs/classifier --out runs/silver.jsonl[/bold]
    """
    from oreqa.datasets.pairs import SILVER
    from oreqa.datasets.tasks import draw_questions
    from oreqa.errors import InputError
    from oreqa.index.search import Index
    from oreqa.mining.silver import LIKELY, Asked, asked_of, mine_silver
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
    from oreqa.models.folders import CLASSIFIER

    if (data is None) == (questions is None) or (questions is None) != (index is None):
        raise InputError("give either --data, or --questions and --index")
    loaded = CrossEncoder.load(classifier, device, kind=CLASSIFIER)
    if data is not None:
        task, opened = _open(data, split, held_out, work or _beside(out), model, device)
        asked = asked_of(draw_questions(task, draw, seed))
    else:
        assert questions is not None
        assert index is not None
        asked, opened = [Asked(line) for line in read_lines(questions)], Index.open(index, device)
    with progress_bar("scoring candidates", len(asked)) as advance:
        rows = mine_silver(asked, opened, loaded, out, top, mode.value, least, advance)
    found = [row for row in rows if row["source"] == SILVER]
    gold = len(rows) - len(found)
    if as_json:
        print_json({"questions": len(asked), "gold": gold, "silver": len(found), "out": str(out)})
        return
    bar = max(least, LIKELY)
    likely = [row for row in found if row["score"] >= bar]
    more = f", {len(likely) / gold:.0%} more than the {gold:,} gold ones" if gold else ""
    counts = f"{len(likely):,} silver pairs of p >= {bar:g} for {len(asked):,} questions{more}"
    say(f"{counts}; {len(rows):,} rows in {out}")
    _show(likely)


def _show(rows: list[dict[str, Any]]) -> None:
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
    if rows:
        Console().print(table)


def _beside(out: Path) -> Path:
    return out.with_name(f"{out.name}.index")


def _open(data: Path, split: str, held_out: bool, work: Path, model: str | None, device: str) -> tuple[ReqaTask, Index]:
    """A task, and the index of its passages."""
    from oreqa.datasets.tasks import load_task
    from oreqa.index.passages import index_passages

    task = load_task(data, split, held_out)
    with progress_bar("encoding passages", len(task.passages)) as advance:
        return task, index_passages(work, task.passages, settings_for(model), device, advance)


@mine.command()
def predictions(
    data: Annotated[
        list[Path],
        typer.Option(help="SQuAD or MRQA file, or rows {question, answers | pattern} (.jsonl); several times for several."),
    ],
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="File for the predictions (.jsonl).")],
    reader: ReaderOption = "minilm-reader",
    index: Annotated[
        Path | None, typer.Option("--index", help="Index to search for rows; the paragraphs of a file are searched by BM25.")
    ] = None,
    passages: Annotated[int, typer.Option(min=1, help="Passages that are retrieved for a question.")] = 5,
    top: Annotated[int, typer.Option(min=2, help="Predictions that are kept of a question.")] = 100,
    questions: Annotated[int | None, typer.Option(min=1, help="Questions drawn of each file.", show_default="all")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    device: DeviceOption = "cpu",
    precision: PrecisionOption = None,
    as_json: JsonFlag = False,
) -> None:
    """A reader's best spans for training questions, right and wrong: what a span re-ranker learns from.

    Held-out articles are left out. An interrupted run goes on when it is started again.

    [bold]oreqa mine predictions --data train.json --reader runs/reader --out runs/predictions.jsonl[/bold]
    """
    from oreqa.index.search import Index
    from oreqa.mining.predictions import mine_predictions
    from oreqa.models.reader.reader import Reader

    opened = None if index is None else Index.open(index, device)
    loaded = Reader.load(reader, device=device)
    with progress_bar("reading questions") as advance:
        count = mine_predictions(data, loaded, out, passages, top, questions, seed, advance, opened)
    if as_json:
        print_json({"questions": count, "out": str(out)})
    else:
        say(f"{count:,} questions in {out}")
