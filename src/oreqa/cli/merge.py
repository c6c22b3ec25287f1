"""``oreqa merge``: merges several indexes into one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option
from oreqa.cli.output import counted, print_json, say
from oreqa.cli.progress import progress_bar
from oreqa.paths import index_option


@app.command(cls=Command, rich_help_panel=Panel.INDEX)
def merge(
    shards: Annotated[list[Path], typer.Argument(metavar="SHARD", help="Indexes to merge.", show_default=False)],
    index: Option.new_index,
    as_json: Option.as_json = False,
) -> None:
    """Make one index of several, or add them to one. Nothing is encoded again.

    It searches as if all documents had been indexed there. The shards must be made with the same model and settings, and no
    two of them may hold the same document. They stay as they are and can be deleted.

    [bold]oreqa merge shard-1 shard-2 --index kb[/bold]
    """
    from oreqa.index.merging import merge_indexes

    merged = merge_indexes(index, shards, progress_bar)
    if as_json:
        print_json({"index": str(index), **asdict(merged)})
        return
    added = f"{counted(merged.added, 'document')} added" if merged.added else "nothing to add"
    say(f"{index}: {added}; {counted(merged.documents, 'document')} and {counted(merged.passages, 'passage')} in all")
    if merged.present:
        say(f"all documents of {', '.join(merged.present)} were there before")
    if merged.marks:
        say(f"{counted(merged.marks, 'mark')} of answers taken over")
    if merged.unfitted:
        again = f"oreqa fit{index_option(index)}"
        say(f"what was fitted for {', '.join(merged.unfitted)} is not taken over; to fit it again: {again}")
