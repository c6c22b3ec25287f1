"""``oreqa check``: compare an index with its checksums."""

from __future__ import annotations

import typer

import oreqa.cli.options as options
from oreqa.cli.application import INDEX, Command, app
from oreqa.cli.output import print_json, say


@app.command(cls=Command, rich_help_panel=INDEX)
def check(
    index: options.index,
    as_json: options.as_json = False,
) -> None:
    """Compare every file and every cached encoding of an index with its checksum, and list the damaged ones.

    The exit code is 1 if any is damaged. Nothing is changed: the next oreqa index rebuilds damaged search files.

    [bold]oreqa check --index kb[/bold]
    """
    from oreqa.index.check import check_index

    problems = check_index(index)
    if as_json:
        print_json({"index": str(index), "problems": problems})
    else:
        for problem in problems:
            say(problem, err=True, colour="red")
        if not problems:
            say(f"{index}: every file is as it was written")
    if problems:
        raise typer.Exit(1)
