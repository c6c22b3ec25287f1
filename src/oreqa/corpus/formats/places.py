"""Where the text of blocks stands in the file that it was read from, for formats whose parsers do not tell."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from oreqa.core import Place, place_after

_NEAR = 400
"""Most characters of markup between two words of a block, and up to its first word."""

_WORD = re.compile(r"\S+")


class SourcePlaces:
    """Finds the blocks of a file in its text, in file order."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = [0, *accumulate(len(line) + 1 for line in source.split("\n"))]
        self._cursor = 0

    def go_to(self, offset: int) -> None:
        """Look for the next block from the character ``offset`` on."""
        self._cursor = offset

    def go_to_line(self, line: int) -> None:
        """Look for the next block from a line on, counted from 1, but not before what was found already."""
        self._cursor = max(self._cursor, self._lines[min(max(line, 1), len(self._lines)) - 1])

    def line(self, offset: int) -> int:
        """The line of a character, from 1."""
        return bisect_right(self._lines, offset)

    def at(self, offset: int, start: int = 0) -> Place:
        """The place of the character ``offset`` of the file, for text that begins at ``start`` of a block."""
        return Place(start, "", self.line(offset), offset)

    def find(self, text: str) -> list[Place]:
        """Return the places of a block's text: one for each part that stands in the file as it is.

        Words that are not found near the last one are taken to stand right behind it.
        """
        places: list[Place] = []
        start = 0
        for line in text.split("\n"):
            begin = start + len(line) - len(line.lstrip())
            at = self._next(line.strip())
            if at is None:
                for word in _WORD.finditer(line):
                    if (near := self._next(word.group())) is not None:
                        self._add(places, text, start + word.start(), near)
            elif line.strip():
                self._add(places, text, begin, at)
            start += len(line) + 1
        return places or [self.at(min(self._cursor, max(len(self._source) - 1, 0)))]

    def _next(self, text: str) -> int | None:
        """The offset of the next ``text`` near the cursor, which then stands behind it."""
        offset = self._source.find(text, self._cursor, self._cursor + len(text) + _NEAR)
        if offset < 0:
            return None
        self._cursor = offset + len(text)
        return offset

    def _add(self, places: list[Place], text: str, start: int, at: int) -> None:
        place = self.at(at, start)
        if places and place_after(places[-1], text[places[-1].start : start]) == place:
            return
        places.append(place)
