"""``oreqa check``: is an index as it was written?"""

from __future__ import annotations

import typer

from oreqa.cli.application import app
from oreqa.cli.options import IndexOption, JsonFlag
from oreqa.cli.output import print_json, say


@app.command()
def check(
    index: IndexOption,
    as_json: JsonFlag = False,
) -> None:
    """Compare every file of an index, and every kept encoding, with its checksum, and name those that are damaged.

    The exit code is 1 if there are any. Nothing is changed: the next oreqa index makes search files anew.

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
