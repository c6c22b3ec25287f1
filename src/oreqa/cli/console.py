"""rich's console for untrusted texts, which makes control characters visible, and parts of its output."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import rich.console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from oreqa.cli.output import visible, writing
from oreqa.text.lines import wraps

_FIRST_LINE = re.compile(r"\S[^\n]*\n([ \t]+)\S")


class Console(rich.console.Console):
    """Prints all tables and styled texts; markup, emoji names and links in a text have no effect."""

    def __init__(self, err: bool = False) -> None:
        super().__init__(stderr=err, markup=False, emoji=False, highlight=False)

    def print(self, *objects: Any, **settings: Any) -> None:
        with writing():
            if self.is_terminal:
                super().print(*objects, **settings)
                return
            with self.capture() as capture:
                super().print(*objects, **settings)
            lines = capture.get().split("\n")
            self.file.write("\n".join(line.rstrip(" ") for line in lines))  # rich pads lines with blanks
            self.file.flush()

    def render_str(self, text: str, **settings: Any) -> Text:
        return super().render_str(visible(text, lines=True), **settings)

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Make control characters of every segment visible; in a text, before it is wrapped, as they change its width."""
        if isinstance(renderable, Text):
            renderable = renderable.copy()
            renderable.plain = visible(renderable.plain, lines=True)
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text, lines=True), segment.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def unwrapped(text: Text, start: int = 0, end: int | None = None) -> Text:
    """Return a text from ``start`` to ``end`` with each line break that wraps prose, and blanks around it, as one space.

    Styles stay on their words.
    """
    plain, end = text.plain, len(text) if end is None else end
    indented = _FIRST_LINE.match(plain)  # a passage begins after its first line's indentation
    blanks = indented[1] if indented else ""
    joined = text.blank_copy()
    for place in (place - len(blanks) for place in wraps(blanks + plain)):
        if start <= place < end:
            space = text[place : place + 1]
            space.plain = " "
            joined.append_text(text[start : len(plain[:place].rstrip(" \t"))]).append_text(space)
            start = place + len(plain[place:]) - len(plain[place:].lstrip())
    return joined.append_text(text[min(start, end) : end])


@dataclass(frozen=True, slots=True)
class Indented:
    """A text wrapped to the terminal's width, with all lines indented and without trailing blanks."""

    text: Text
    indent: int

    def __rich_console__(self, console: rich.console.Console, options: rich.console.ConsoleOptions) -> Iterator[Text]:
        for line in self.text.wrap(console, max(1, options.max_width - self.indent)):
            line.rstrip()
            yield Text.assemble(" " * self.indent, line) if line else Text()


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place and the names of what is there: on one line if they fit, else the names below; the place is never broken.

    On terminals that support it, the place is a ``link``. Print it with ``crop=False``: a place may be wider than the
    terminal.
    """

    place: str
    names: str
    indent: int
    style: str = "cyan"
    link: str = ""

    def __rich_console__(self, console: rich.console.Console, options: rich.console.ConsoleOptions) -> Iterator[Text]:
        place, names = Text(visible(self.place), self.style), Text(visible(self.names), "dim")
        if self.link:
            place.stylize(Style(link=self.link))
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
