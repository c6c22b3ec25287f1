"""Where the text of blocks stands in the file that it was read from, for formats whose parsers do not tell."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

from oreqa.core import Place, place_after

_NEAR = 400
"""Most characters of markup between two words of a block."""

_CLOSE = 40
"""A word that stands further behind the last one counts only if the next one stands so close to it."""

_RUNS, _TRIES = ((3, 2000), (5, 100_000)), 8
"""Words of a run by which a block is found again, and how far behind the last; how many runs are tried."""

_WORD = re.compile(r"\S+")


class SourcePlaces:
    """Finds the blocks of a file in its text, in file order."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = [0, *accumulate(len(line) + 1 for line in source.split("\n"))]
        self._cursor = 0
        self._last = Place(0)  # of the words of a block that were found, whether it begins a part or goes on with it

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
        self._go_near(text)
        places: list[Place] = []
        start = 0
        for line in text.split("\n"):
            at = self._offset(line.strip())
            if at is None or at - self._cursor > _CLOSE:
                self._find_words(places, text, start, start + len(line))
            elif line.strip():
                self._cursor = at + len(line.strip())
                self._add(places, text, start + len(line) - len(line.lstrip()), at)
            start += len(line) + 1
        if not places:
            return [self.at(min(self._cursor, max(len(self._source) - 1, 0)))]
        first = places[0]
        return places if not first.start else [replace(first, start=0), *places]

    def _find_words(self, places: list[Place], text: str, start: int, end: int) -> None:
        words = [match.span() for match in _WORD.finditer(text, start, end)]
        for (begin, stop), after in zip(words, [*words[1:], None], strict=True):
            at = self._offset(text[begin:stop])
            if at is None:
                continue
            behind = at + stop - begin
            if at - self._cursor > _CLOSE and after:
                following = text[slice(*after)]
                if self._source.find(following, behind, behind + _CLOSE + len(following)) < 0:
                    continue
            self._cursor = behind
            self._add(places, text, begin, at)

    def _go_near(self, text: str) -> None:
        """Go on to the block, if it stands behind a long part of the file that was not read."""
        words = text.split(maxsplit=_TRIES + _RUNS[-1][0])
        if self._offset(" ".join(words[: _RUNS[0][0]])) is not None:
            return
        for count, far in _RUNS:
            for first in range(min(len(words) - count, _TRIES)):
                run = " ".join(words[first : first + count])
                offset = self._source.find(run, self._cursor, self._cursor + far)
                if offset >= 0:
                    before = len(" ".join(words[:first])) + _CLOSE * first
                    self._cursor = max(self._cursor, offset - before)
                    return

    def _offset(self, text: str) -> int | None:
        offset = self._source.find(text, self._cursor, self._cursor + len(text) + _NEAR)
        return None if offset < 0 else offset

    def _add(self, places: list[Place], text: str, start: int, at: int) -> None:
        place = self.at(at, start)
        if not places or place_after(self._last, text[self._last.start : start]) != place:
            places.append(place)
        self._last = place
