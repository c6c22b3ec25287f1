"""``oreqa remove``: removes documents from an index."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import shown_path
from oreqa.cli.options import Option
from oreqa.cli.output import counted, need_text, print_json, say
from oreqa.paths import file_of

NAMED_KEYS = 5
"""The most documents whose names are printed; JSON has all."""


@app.command(cls=Command, rich_help_panel=Panel.INDEX)
def remove(
    documents: Annotated[
        list[str],
        typer.Argument(
            metavar="DOCUMENT",
            help="A document as other commands print it, a path, the end of one, or a title; a folder, or a file of many,"
            " means all in it.",
            show_default=False,
        ),
    ],
    index: Option.index,
    yes: Annotated[bool, typer.Option("--yes", help="Remove more than half of the documents, too.")] = False,
    as_json: Option.as_json = False,
) -> None:
    """Remove documents from an index. Their files are not touched.

    The next oreqa index of their folder adds a file again, unless .oreqaignore or --exclude excludes it.

    [bold]oreqa remove old/manual.pdf --index kb[/bold]

    [bold]oreqa remove docs/2019 docs/2020 --index kb[/bold]
    """
    from oreqa.index.removal import LARGEST_SHARE, remove_documents

    names = [need_text(document, "the document") for document in documents]
    removed = remove_documents(index, names, largest_share=1.0 if yes else LARGEST_SHARE)
    files = sorted({str(path) for path in map(file_of, removed) if path.is_absolute()})
    there = list(filter(os.path.exists, files))  # Path.exists raises if access is denied
    if as_json:
        print_json({"index": str(index), "removed": removed, "files": there})
        return
    listed = ", ".join(map(shown_path, removed[:NAMED_KEYS])) + (", ..." if len(removed) > NAMED_KEYS else "")
    say(f"{index}: {counted(len(removed), 'document')} removed: {listed}")
    if there:
        which = f"{shown_path(there[0])} is" if len(there) == 1 else f"{len(there):,} of the files are"
        again = "its folder adds it" if len(there) == 1 else "their folders adds them"
        say(f"{which} still there: the next oreqa index of {again} again, unless .oreqaignore or --exclude leaves it out")
    elif files:
        say(f"to undo this, bring back {shown_path(files[0])}{' ...' if len(files) > 1 else ''} and run oreqa index again")
