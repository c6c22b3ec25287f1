"""``oreqa copy``: copies an index into another folder, or to another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option
from oreqa.cli.output import counted, print_json, say
from oreqa.cli.progress import progress_bar


@app.command("copy", cls=Command, rich_help_panel=Panel.INDEX)
def copy(
    folder: Annotated[Path, typer.Argument(metavar="KB", help="The index to copy.", show_default=False)],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Folder of the copy, new or empty.", show_default=False)],
    engine: Option.engine = None,
    as_json: Option.as_json = False,
) -> None:
    """Copy an index, or move it to another engine. Nothing is encoded again.

    What people marked and what was fitted for it are copied, too. Without --engine, vectors and words are stored in the new
    folder, which shares them with the old one if they are there and the file system has hard links.

    [bold]oreqa copy kb copy-of-kb[/bold]

    [bold]oreqa copy kb served --engine milvus:http://127.0.0.1:19530[/bold]

    [bold]oreqa copy served kb-2[/bold]
    """
    from oreqa.index.copying import copy_index

    passages = copy_index(folder, new, engine, progress=progress_bar)
    if as_json:
        print_json({"index": str(new), "passages": passages, "engine": engine})
    else:
        say(f"{new}: {counted(passages, 'passage')}" + (f", at {engine}" if engine else ""))
