"""The names of all commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from oreqa.cli import app


def _commands(group: Any, *names: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, *names, name)
        else:
            yield (*names, name)


COMMANDS = list(_commands(typer.main.get_command(app)))
