"""The command line. Each command has its own file and imports what it needs when it runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.cli.application import app as app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Importing a command's module adds it to the app; the order is that of the help page.
    from oreqa.cli import (  # noqa: F401
        adapt,
        ask,
        chat,
        compare,
        copy,
        data,
        doctor,
        evaluate,
        explain,
        fit,
        generate,
        index,
        marks,
        mcp,
        merge,
        mine,
        models,
        open,
        plan,
        remove,
        search,
        serve,
        show,
        test,
    )
    from oreqa.cli.application import app

    return app


def main() -> None:
    """Entry point of the ``oreqa`` command."""
    try:
        from oreqa.cli import app

        app()
    except KeyboardInterrupt:  # while the commands are imported; later, the application reports what stops one
        sys.exit(130)
