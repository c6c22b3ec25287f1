"""The help page of a command: its options in panels, with names never cut off, and the keys of a recipe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from oreqa.cli.console import Console

if TYPE_CHECKING:
    from oreqa.training.recipe_keys import Key

MANY = 8
"""A command with more options than this shows them in several panels."""


def print_help(command: Any, context: Any) -> None:
    """Print usage, description, and each option with its default; for a group also its commands.

    The arguments are click's.
    """
    console = Console()
    console.print(Text(re.sub(r"[{}]", "", command.get_usage(context)), "bold"), end="\n\n")
    console.print(Text.from_markup(command.help or ""), end="\n\n")
    parameters = command.get_params(context)
    options = [parameter for parameter in parameters if parameter.param_type_name == "option"]
    panels: dict[str, list[tuple[str, Text]]] = {}
    for name in command.list_commands(context) if hasattr(command, "commands") else ():
        part = command.commands[name]
        purpose = Text.from_markup(part.help.partition("\n\n")[0])
        panels.setdefault(getattr(part, "rich_help_panel", None) or "Commands", []).append((name, purpose))
    for parameter in parameters:
        panel = getattr(parameter, "rich_help_panel", None) if len(options) > MANY else None
        if parameter not in options:
            panel = "Arguments"
        panels.setdefault(panel or "Options", []).append((_usage(parameter), _meaning(parameter)))
    width = max(len(usage) for rows in panels.values() for usage, _ in rows)
    for name, rows in sorted(panels.items(), key=lambda panel: (panel[0] != "Arguments", panel[0] == "Options")):
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="bold cyan", no_wrap=True, min_width=width)
        table.add_column(ratio=1)
        for row in rows:
            table.add_row(*row)
        console.print(Panel(table, title=name, title_align="left", border_style="dim"))


def _usage(parameter: Any) -> str:
    """Return e.g. ``-h, --help`` or ``--seed N``, or for an argument ``QUESTION``."""
    value = "" if getattr(parameter, "is_flag", False) else parameter.metavar or parameter.name.upper()
    names = sorted(parameter.opts, key=len) if parameter.param_type_name == "option" else ()
    return f"{', '.join(names)} {value}".strip()


def _meaning(parameter: Any) -> Text:
    """Return the help of an option, and its default, or that it is required."""
    fact = ""
    if parameter.required:
        fact = "required"
    elif parameter.default in (None, (), []) or callable(parameter.default):
        fact = f"default: {parameter.show_default}" if isinstance(parameter.show_default, str) else ""
    elif parameter.default is not False:
        fact = f"default: {parameter.default}"
    return Text.assemble(parameter.help or "", (f" [{fact}]" if fact else "", "dim"))


def recipe_table(title: str, keys: Sequence[Key]) -> Table:
    """Return a table of keys with their defaults, as written in a recipe, their possible values, and their descriptions."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("key = default", no_wrap=True)
    table.add_column("can be", max_width=16)
    table.add_column("what it does")
    for key in keys:
        default = " (needed)" if key.default is None else f" = {key.default}" if key.default else ""
        table.add_row(key.name + default, key.value, key.description)
    return table
