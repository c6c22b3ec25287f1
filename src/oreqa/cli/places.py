"""Where a text stands, in a form that a person can open: ``notes.md:12``, ``paper.pdf, page 3``, ``help.html#install``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oreqa.cli.output import visible

if TYPE_CHECKING:
    import rich.console
    from rich.text import Text

    from oreqa.core import Passage


def shown_path(document: str) -> str:
    """A document's key as the shortest path to it: from the current folder, from ``~``, or from the root."""
    path, mark, row = document.partition("#")
    if not Path(path).is_absolute():
        return document
    ways = [os.path.relpath(path), path]
    home = str(Path("~").expanduser())
    if home != os.sep and Path(path).is_relative_to(home):
        ways.append("~" + path[len(home) :])
    return min(ways, key=len) + mark + row


def place_text(passage: Passage, offset: int) -> str:
    """Where a character of a passage's document stands: the file and its page, anchor or line, where that is known."""
    place = passage.place(offset)
    return shown_path(passage.document_key) + (place.mark if place else "")


def place_json(passage: Passage, start: int, end: int) -> dict[str, Any]:
    """The place of a stretch as JSON, null where something is not known; ``source`` holds characters of the file."""
    first, last = passage.place(start), passage.place(max(start, end - 1))
    source = None
    if first and last and first.source is not None and last.source is not None:
        source = {"start": first.source, "end": last.source + (end > start)}
    return {"name": first.name or None if first else None, "line": first.line if first else None, "source": source}


def names_of(passage: Passage) -> str:
    """The passage's title and heading; the heading alone where it begins with the words of the title, as a page's first
    heading may."""
    repeats = f"{passage.heading} ".startswith(f"{passage.title} ")
    title = "" if repeats else passage.title
    return " > ".join(name for name in (title, passage.heading) if name)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place and the names of what stands there: on one line if they fit, else the names below, the place never broken.

    Print it with ``crop=False``: a place may be longer than the terminal is wide.
    """

    place: str
    names: str
    indent: int
    style: str = "cyan"

    def __rich_console__(self, console: rich.console.Console, options: rich.console.ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        place, names = Text(visible(self.place), self.style), Text(visible(self.names), "dim")
        blank = " " * self.indent
        room = options.max_width - self.indent
        if not self.names:
            lines = [place]
        elif place.cell_len + names.cell_len + 2 <= room:
            lines = [Text.assemble(place, "  ", names)]
        else:
            lines = [place, *names.wrap(console, max(1, room))]
        for line in lines:
            yield Text.assemble(blank, line, no_wrap=True, overflow="ignore")
