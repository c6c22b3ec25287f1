"""``oreqa mine``: make training data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import oreqa.generation
import oreqa.mining
from oreqa.cli.application import CommandGroup, Panel, app
from oreqa.cli.held_out import say_held_out
from oreqa.cli.options import Option, data_option, number_option, share_option
from oreqa.cli.output import counted, one_line, print_json, say
from oreqa.cli.runs import runs
from oreqa.paths import INDEX_HERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oreqa.datasets.pairs import Pair
    from oreqa.mining.silver import SilverPairs

mine = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Make training data.")
app.add_typer(mine, name="mine", rich_help_panel=Panel.DATA)


@runs(mine, lambda: oreqa.mining.mine_negatives, index=Option.data_index)
def negatives(pairs: Sequence[Pair], data: Path, held_out: bool, out: Path, as_json: bool) -> None:
    """Pair each question with its answer and three sentences that do not answer it, to train a classifier.

    One is drawn from BM25's ten best sentences, one from the ten nearest vectors, one from the answer's own document.

    [bold]oreqa mine negatives --data train.json --out runs/pairs.jsonl[/bold]
    """
    count = sum(len(pair.negatives) for pair in pairs)
    if as_json:
        print_json({"pairs": len(pairs), "negatives": count, "out": str(out)})
    else:
        say(f"{counted(len(pairs), 'pair')} with {counted(count, 'negative')} in {out}")
        say_held_out(data, held_out)


@runs(
    mine,
    lambda: oreqa.mining.mine_silver,
    index=Option.data_index,
    questions=Option.read_questions,
    k=Annotated[int, number_option("-k", max=1000, help="Sentences retrieved for each question.")],
)
def silver(
    mined: SilverPairs,
    data: Path | None,
    held_out: bool,
    min_probability: float,
    out: Path,
    part: str | None,
    as_json: bool,
) -> None:
    """Find unlabelled answers: retrieved sentences that a classifier accepts, as more pairs to train on.

    Works on questions with answers (--data), which are kept as they are, and on questions without (--questions and
    --index). The file can be read and edited. An interrupted run resumes when started again, and a run
    without --part gathers the parts that several machines have made.

    [bold]oreqa mine silver --data train.json --classifier runs/classifier --out runs/silver.jsonl[/bold]
    """
    if part is not None and not as_json:
        say(f"part {part}: {counted(mined.questions, 'question')}; when all parts are done, run it without --part")
    elif as_json:
        counts = {source: len(mined.of_source(source)) for source in ("gold", "silver")}
        print_json({"questions": mined.questions, **counts, "out": str(out)})
    else:
        _print_silver(mined, min_probability, out)
        if data is not None:
            say_held_out(data, held_out)


def _print_silver(mined: SilverPairs, min_probability: float, out: Path) -> None:
    from oreqa.mining.silver import MIN_PROBABILITY

    bar, gold = max(min_probability, MIN_PROBABILITY), len(mined.of_source("gold"))
    likely = [row for row in mined.of_source("silver") if row["score"] >= bar]
    gain = f", {len(likely) / gold:.0%} more than the {gold:,} gold ones" if gold else ""
    answered = f"{len({row['question'] for row in likely}):,} of {counted(mined.questions, 'question')}"
    counts = f"{counted(len(likely), 'silver pair')} of p >= {bar:g} for {answered}{gain}"
    say(f"{counts}; {counted(len(mined.rows), 'row')} in {out}")
    if likely:
        _print_sample(likely)


def _print_sample(rows: list[dict[str, Any]]) -> None:
    """Print ten pairs, evenly spread over the probabilities."""
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


@runs(
    mine,
    lambda: oreqa.mining.mine_predictions,
    index=Annotated[
        Path | None,
        data_option(
            metavar="DIR", help="Folder of the index to search for rows.", show_default=f"$OREQA_INDEX, else {INDEX_HERE}"
        ),
    ],
    data=Annotated[
        list[Path],
        data_option(
            metavar="FILE", help="SQuAD or MRQA file, or rows {question, answers | pattern} (.jsonl); may be repeated."
        ),
    ],
    k=Annotated[int, number_option("-k", min=2, help="Spans kept for each question.")],
)
def predictions(count: int, data: list[Path], out: Path, as_json: bool) -> None:
    """Keep a reader's best spans for training questions, right and wrong, to train a span re-ranker.

    Held-out articles are left out. BM25 searches the paragraphs of a file; the index is searched for rows. An interrupted
    run resumes when started again.

    [bold]oreqa mine predictions --data train.json --reader runs/reader --out runs/predictions.jsonl[/bold]
    """
    _print_count("question", count, out, as_json)
    for file in () if as_json else data:
        say_held_out(file, held_out=False)


@runs(
    mine,
    lambda: oreqa.mining.mine_passages,
    index=Option.index,
    data=Annotated[
        Path,
        data_option(metavar="FILE", help="Rows {question, answers | pattern} (.jsonl), or a SQuAD or MRQA file."),
    ],
    passages=Annotated[int, number_option(max=1000, help="Passages looked through for each question.")],
)
def passages(count: int, out: Path, as_json: bool) -> None:
    """Pair questions with the first passage that contains an answer, to train a generator.

    Works on lists of questions that name no passage. A passage may contain the answer and not say what is asked: read some.

    [bold]oreqa mine passages --data questions.jsonl --index kb --out runs/pairs.jsonl[/bold]
    """
    _print_count("pair", count, out, as_json)


@runs(
    mine,
    lambda: oreqa.mining.mine_cloze,
    index=Option.optional_index,
    per_passage=Annotated[int, number_option(help="Sentences drawn from each passage.")],
    kept=Annotated[float, share_option(help="Share of the passages that keep their sentence.")],
)
def cloze(count: int, out: Path, as_json: bool) -> None:
    """Make pairs from documents alone: a sentence as the question, its passage without it as the answer.

    This is the inverse cloze task, to pretrain a retriever (unit=passage) without questions.

    [bold]oreqa mine cloze --index kb --out runs/cloze.jsonl[/bold]
    """
    _print_count("pair", count, out, as_json)


def _print_count(noun: str, count: int, out: Path, as_json: bool) -> None:
    if as_json:
        print_json({f"{noun}s": count, "out": str(out)})
    else:
        say(f"{counted(count, noun)} in {out}")
