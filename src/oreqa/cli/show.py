"""``oreqa show``: prints a document as stored in the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import place_text, shown_path
from oreqa.cli.options import Option
from oreqa.cli.output import need_text, print_json, visible
from oreqa.cli.sources import source_at
from oreqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from oreqa.core import Passage


@app.command(cls=Command, rich_help_panel=Panel.ASK)
def show(
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT", help="A document as other commands print it, a path, or the end of one.", show_default=False
        ),
    ],
    index: Option.index,
    start: Annotated[
        int | None,
        typer.Argument(metavar="START", min=0, help="With END: only the passages with this stretch.", show_default=False),
    ] = None,
    end: Annotated[
        int | None, typer.Argument(metavar="END", min=0, help="The character after the last.", show_default=False)
    ] = None,
    as_json: Option.as_json = False,
) -> None:
    """Print a document's passages from an index, or those that contain a range of it, which is marked.

    START and END are the offsets that --json prints.

    [bold]oreqa show octopus.md --index kb[/bold]

    [bold]oreqa show octopus.md 27 32 --index kb[/bold]
    """
    from oreqa.index.documents import read_document

    if start is not None and end is None:
        raise InputError("give START and END, as in: oreqa show octopus.md 27 32")
    if start is not None and end is not None and start >= end:
        raise InputError(f"END must be after START, and {end} is not after {start}, as in: oreqa show octopus.md 27 32")
    stretch = None if start is None or end is None else (start, end)
    passages = read_document(index, need_text(document, "the document"))
    if stretch and passages:
        whole, passages = passages, [p for p in passages if p.start < stretch[1] and stretch[0] < p.end]
        if not passages:
            ends = f"{whole[0].start}-{whole[-1].end}"
            raise InputError(f"{document}: no passage stands at {stretch[0]}-{stretch[1]}; its passages stand at {ends}")
    if as_json:
        print_json(_document_json(document, passages, stretch))
    else:
        _print(passages, stretch)


def _document_json(name: str, passages: Sequence[Passage], stretch: tuple[int, int] | None) -> dict[str, Any]:
    from oreqa.as_json import place_json

    rows = [
        {
            "heading": passage.heading,
            "text": passage.text,
            "start": passage.start,
            "end": passage.end,
            "place": place_json(passage, passage.start, passage.end),
            "sentences": [{"start": sentence.start, "end": sentence.end} for sentence in passage.sentences],
        }
        for passage in passages
    ]
    return {
        "document": passages[0].document_key if passages else name,
        "title": passages[0].title if passages else "",
        "fields": dict(passages[0].fields) if passages else {},
        "marked": {"start": stretch[0], "end": stretch[1]} if stretch else None,
        "passages": rows,
    }


def _print(passages: Sequence[Passage], stretch: tuple[int, int] | None) -> None:
    from rich.text import Text

    from oreqa.cli.console import Console, Indented, SourceLine

    console = Console()
    if not passages:
        console.print("no passages: the document has no text", style="bold yellow")
        return
    first = passages[0]
    console.print(Text(visible(first.title), "bold"))
    console.print(SourceLine(shown_path(first.document_key), "", 0), crop=False)
    for name, value in first.fields.items():
        console.print(Text(visible(f"{name}: {value}"), "dim"))
    heading = ""
    for passage in passages:
        console.print()
        if passage.heading and passage.heading != heading:
            console.print(Text(visible(passage.heading), "bold"))
        heading = passage.heading
        console.print(Indented(_marked(passage, stretch), 2))
        place, url = place_text(passage, passage.start), source_at(passage, passage.start).url
        console.print(SourceLine(place, f"{passage.start}-{passage.end}", 2, link=url), crop=False)


def _marked(passage: Passage, stretch: tuple[int, int] | None) -> Text:
    """Return a passage's text with the part of the range in it underlined."""
    from rich.text import Text

    text = Text(visible(passage.text, lines=True))
    if stretch:
        text.stylize("bold underline", max(0, stretch[0] - passage.start), max(0, stretch[1] - passage.start))
    return text
