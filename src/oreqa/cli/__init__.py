"""The command line. Each command has a file of its own and imports what it needs when it runs."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from oreqa.errors import OreqaError


class _Commands(TyperGroup):
    """Turns errors that a user can mend into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OreqaError as error:
            if ctx.params.get("debug"):
                raise
            typer.secho(f"error: {error}", fg="red", err=True)
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt:
            typer.secho("interrupted; finished work is kept: run the same command again to go on", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of our output has left
            sys.stderr.close()
            raise typer.Exit(0) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"oreqa {version('oreqa')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Answer questions from your documents, with the evidence.

    [bold]oreqa index docs/ --index kb[/bold]   reads the documents

    [bold]oreqa ask "Who wrote it?" --index kb[/bold]   answers from them
    """


def main() -> None:
    """Entry point of the ``oreqa`` command."""
    app()


# Importing a command's module adds it to the app; the order is that of the help page.
from oreqa.cli import index, check, ask, search, evaluate, openqa, compare, train, mine, models  # noqa: E402, F401, I001
