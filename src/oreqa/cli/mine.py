"""``oreqa mine``: training data that models find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli import app
from oreqa.cli.output import DeviceOption, JsonFlag, ReaderOption, print_json, progress_bar

mine = typer.Typer(no_args_is_help=True, help="Find training data with models.")
app.add_typer(mine, name="mine")


@mine.command()
def predictions(
    data: Annotated[list[Path], typer.Option(help="SQuAD or MRQA file; give it several times for several files.")],
    out: Annotated[Path, typer.Option("--out", help="File for the predictions (.jsonl).")],
    reader: ReaderOption = "minilm-reader",
    passages: Annotated[int, typer.Option(min=1, help="Passages that BM25 retrieves for a question.")] = 5,
    top: Annotated[int, typer.Option(min=2, help="Predictions that are kept of a question.")] = 100,
    questions: Annotated[int | None, typer.Option(min=1, help="Questions drawn of each file.  [default: all]")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    device: DeviceOption = "cpu",
    as_json: JsonFlag = False,
) -> None:
    """A reader's best spans for training questions, right and wrong: what a span re-ranker learns from.

    Held-out articles are left out. An interrupted run goes on when it is started again.

    [bold]oreqa mine predictions --data train.json --reader runs/reader --out runs/predictions.jsonl[/bold]
    """
    from oreqa.mining.predictions import mine_predictions
    from oreqa.runtime.reader import PassageReader

    loaded = PassageReader.load(reader, device=device)
    with progress_bar("reading questions") as advance:
        count = mine_predictions(data, loaded, out, passages, top, questions, seed, advance)
    if as_json:
        print_json({"questions": count, "out": str(out)})
    else:
        typer.echo(f"{count:,} questions in {out}")
