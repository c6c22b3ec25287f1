"""``oreqa train``: models from recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli.application import app
from oreqa.cli.options import JsonFlag
from oreqa.cli.output import print_json, say
from oreqa.cli.progress import progress_bar

train = typer.Typer(no_args_is_help=True, help="Train a model by a recipe (needs the train extra).")
app.add_typer(train, name="train")

RecipeOption = Annotated[Path, typer.Option(help="Recipe, a TOML file; recipes/ holds some.")]
OutOption = Annotated[Path, typer.Option("--out", help="Folder of the trained model.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="Change the recipe: name=value, as in optimiser.batch=16.")
]


@train.command()
def reader(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a reader: the span that answers, and the passage that holds it.

    An interrupted training goes on from its last checkpoint when it is run again.

    [bold]oreqa train reader --recipe recipes/small/reader.toml --set data_root=data --out runs/reader[/bold]
    """
    from oreqa.training import need_torch

    need_torch()
    from oreqa.training.reader import train_reader
    from oreqa.training.recipes import ReaderRecipe, load_recipe
    from oreqa.training.records import train_recorded

    settled = load_recipe(ReaderRecipe, recipe, set_ or ())
    files = [settled.data_root / part.file for part in settled.data]
    _finish(train_recorded(train_reader, settled, files, out, progress_bar), out, as_json)


@train.command()
def reranker(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a span re-ranker from a reader's predictions (oreqa mine predictions).

    An interrupted training goes on from its last checkpoint when it is run again.

    [bold]oreqa train reranker --recipe recipes/small/reranker.toml --out runs/reranker[/bold]
    """
    from oreqa.training import need_torch

    need_torch()
    from oreqa.training.cross_encoder import train_reranker
    from oreqa.training.recipes import RerankerRecipe, load_recipe
    from oreqa.training.records import train_recorded

    settled = load_recipe(RerankerRecipe, recipe, set_ or ())
    files = [settled.data_root / settled.predictions]
    _finish(train_recorded(train_reranker, settled, files, out, progress_bar), out, as_json)


@train.command()
def classifier(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a cross-attention classifier: does a sentence answer a question? (from oreqa mine negatives)

    An interrupted training goes on from its last checkpoint when it is run again.

    [bold]oreqa train classifier --recipe recipes/small/classifier.toml --set 'data=["pairs.jsonl"]' --out runs/c[/bold]
    """
    from oreqa.training import need_torch

    need_torch()
    from oreqa.training.cross_encoder import train_classifier
    from oreqa.training.recipes import ClassifierRecipe, load_recipe
    from oreqa.training.records import train_recorded

    settled = load_recipe(ClassifierRecipe, recipe, set_ or ())
    files = [settled.data_root / part for part in settled.data]
    _finish(train_recorded(train_classifier, settled, files, out, progress_bar), out, as_json)


@train.command()
def retriever(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a dual encoder on questions and answers, gold and silver (oreqa mine silver).

    The folder is one of sentence-transformers, and a model for oreqa index --model. An interrupted training goes on from its
    last checkpoint when it is run again.

    [bold]oreqa train retriever --recipe recipes/small/retriever.toml --set 'data=["train.json"]' --out runs/retriever[/bold]
    """
    from oreqa.training import need_torch

    need_torch()
    from oreqa.training.recipes import RetrieverRecipe, load_recipe
    from oreqa.training.records import train_recorded
    from oreqa.training.retriever import train_retriever

    settled = load_recipe(RetrieverRecipe, recipe, set_ or ())
    files = [settled.data_root / part for part in (*settled.data, *([settled.dev] if settled.dev else []))]
    _finish(train_recorded(train_retriever, settled, files, out, progress_bar), out, as_json)


def _finish(record: dict[str, object], out: Path, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        say(f"trained in {record['seconds']:,.0f} s, {record['steps']:,} steps: {out}")
