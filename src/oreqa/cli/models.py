"""``oreqa models``: the models that are installed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import oreqa.cli.options as options
from oreqa.cli.application import MODELS, Command, app
from oreqa.cli.output import print_json, say, visible


@app.command(cls=Command, rich_help_panel=MODELS)
def models(
    name: Annotated[str | None, typer.Argument(help="Show one model's card.")] = None,
    as_json: options.as_json = False,
) -> None:
    """List the installed models, or show one's card.

    [bold]oreqa models minilm-reader[/bold]
    """
    from oreqa.cli.console import Console
    from oreqa.models.folders import find_model, list_models

    if name is not None:
        card = find_model(name) / "README.md"
        text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else f"{name} has no card"
        if as_json:
            print_json({"name": name, "folder": str(card.parent), "card": text})
            return
        from rich.markdown import Markdown

        Console().print(Markdown(text, hyperlinks=False))
        return
    listed = list_models()
    if as_json:
        print_json([asdict(model) | {"path": str(model.path)} for model in listed])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("name", "what it does", "size", "licence"):
        table.add_column(column, overflow="fold")
    for model in listed:
        table.add_row(*map(visible, (model.name, model.kind, f"{model.bytes / 1e6:.1f} MB", model.licence)))
    Console().print(table)
    for model in listed:
        say(f"{model.name}: {model.path}")
