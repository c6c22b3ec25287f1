"""``oreqa train``: models from recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from oreqa.cli.application import app
from oreqa.cli.options import JsonFlag
from oreqa.cli.output import print_json, say
from oreqa.cli.progress import progress_bar
from oreqa.errors import INSTALL_TRAIN

train = typer.Typer(no_args_is_help=True, help="Train a model by a recipe (needs the train extra).")
app.add_typer(train, name="train")

FEW_STEPS = 50
"""A training of fewer steps gives a warning; those of the packaged models have hundreds."""

RecipeOption = Annotated[Path, typer.Option(help="Recipe, a TOML file; recipes/ holds some.")]
OutOption = Annotated[Path, typer.Option("--out", help="Folder of the trained model.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Change the recipe: name=value, as in optimiser.batch=16; name= leaves the key out."),
]


class _Training(TyperCommand):
    """A command whose help page also lists the keys of its recipe."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        try:
            from oreqa.training.recipe_keys import recipe_tables
            from oreqa.training.train import RECIPES
        except ImportError:  # the base install has no pydantic
            say(f"The keys of the recipe are listed here once the train extra is installed; {INSTALL_TRAIN}")
            return
        from oreqa.cli.console import Console
        from oreqa.cli.recipe_table import recipe_table

        console = Console()
        for section, keys in recipe_tables(RECIPES[str(self.name)]):
            console.print(recipe_table(section or "Keys of the recipe", keys))


@train.command(cls=_Training)
def reader(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a reader: the span that answers, and the passage that holds it.

    An interrupted training resumes from its last checkpoint when it is run again.

    [bold]oreqa train reader --recipe recipes/small/reader.toml --set data_root=data --out runs/reader[/bold]
    """
    _train("reader", recipe, out, set_, as_json)


@train.command(cls=_Training)
def reranker(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a span re-ranker from a reader's predictions (oreqa mine predictions).

    An interrupted training resumes from its last checkpoint when it is run again.

    [bold]oreqa train reranker --recipe recipes/small/reranker.toml --out runs/reranker[/bold]
    """
    _train("reranker", recipe, out, set_, as_json)


@train.command(cls=_Training)
def classifier(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a cross-attention classifier: does a sentence answer a question? (from oreqa mine negatives)

    An interrupted training resumes from its last checkpoint when it is run again.

    [bold]oreqa train classifier --recipe recipes/small/classifier.toml --set 'data=["pairs.jsonl"]' --out runs/c[/bold]
    """
    _train("classifier", recipe, out, set_, as_json)


@train.command(cls=_Training)
def retriever(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a dual encoder on questions and answers, gold and silver (oreqa mine silver).

    The folder is one of sentence-transformers, and a model for oreqa index --model. An interrupted training resumes from its
    last checkpoint when it is run again.

    [bold]oreqa train retriever --recipe recipes/small/retriever.toml --set 'data=["train.json"]' --out runs/retriever[/bold]
    """
    _train("retriever", recipe, out, set_, as_json)


@train.command(cls=_Training)
def openqa(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Fine-tune a question encoder and a reader together, on passages whose vectors stay as they are.

    The folder holds a retriever and a reader, for oreqa eval openqa --model and --reader. An interrupted training resumes
    from its last checkpoint when it is run again.

    [bold]oreqa train openqa --recipe recipes/small/openqa.toml --set 'corpus="train.json"' --out runs/openqa[/bold]
    """
    _train("openqa", recipe, out, set_, as_json)


@train.command(cls=_Training)
def generator(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train a question generator: from an answer marked in its context to the question (for oreqa generate).

    An interrupted training resumes from its last checkpoint when it is run again.

    [bold]oreqa train generator --recipe recipes/small/generator.toml --set data_root=data --out runs/generator[/bold]
    """
    _train("generator", recipe, out, set_, as_json)


@train.command(cls=_Training)
def extractor(recipe: RecipeOption, out: OutOption, set_: SetOption = None, as_json: JsonFlag = False) -> None:
    """Train an answer extractor: which spans of a passage do people ask about? (for oreqa generate)

    An interrupted training resumes from its last checkpoint when it is run again.

    [bold]oreqa train extractor --recipe recipes/small/extractor.toml --set data_root=data --out runs/extractor[/bold]
    """
    _train("extractor", recipe, out, set_, as_json)


def _train(kind: str, recipe: Path, out: Path, settings: list[str] | None, as_json: bool) -> None:
    from oreqa.training import train_model
    from oreqa.training.train import keep_freed_memory, limit_kernel_cache

    keep_freed_memory()
    limit_kernel_cache()
    record = train_model(kind, recipe, out, settings or (), progress_bar)
    if as_json:
        print_json(record)
    else:
        before = record.get("seconds_since_step")
        resumed = f", resumed after step {before:,}" if before else ""
        pairs = f" on {record['pairs']:,} pairs" if "pairs" in record else ""
        loss = record["losses"][-1][1]
        say(f"trained in {record['seconds']:,.0f} s{resumed}; {record['steps']:,} steps{pairs}, last loss {loss:g}: {out}")
        if record["steps"] < FEW_STEPS:
            say("  so few steps teach a model little: give it more data, or measure it before you use it")
