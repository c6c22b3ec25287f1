"""rich's console for untrusted texts: it interprets nothing in them and shows control characters as marks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import rich.console
from rich.segment import Segment
from rich.text import Text

from oreqa.cli.output import visible, writing


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
            self.file.write("\n".join(line.rstrip(" ") for line in lines))  # rich fills lines with blanks
            self.file.flush()

    def render_str(self, text: str, **settings: Any) -> Text:
        return super().render_str(visible(text, lines=True), **settings)

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Marks control characters of every segment; of a text before it is folded, so that its width counts the marks."""
        if isinstance(renderable, Text):
            renderable = renderable.copy()
            renderable.plain = visible(renderable.plain, lines=True)
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text, lines=True), segment.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
