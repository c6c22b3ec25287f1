"""The command line. Each command has a file of its own and imports what it needs when it runs."""

from __future__ import annotations

# Importing a command's module adds it to the app; the order is that of the help page.
from oreqa.cli import adapt, ask, compare, evaluate, fit, generate, index, mine, models, search, show  # noqa: F401
from oreqa.cli.application import app

__all__ = ["app", "main"]


def main() -> None:
    """Entry point of the ``oreqa`` command."""
    app()
