"""Finds where the text of blocks is in the source file, for formats whose parsers do not report it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate, islice

from oreqa.core import Place, place_after

_NEAR = 400
"""Most characters of markup between two words of a block."""

_CLOSE = 40
"""A word that is further from the last one counts only if the next one follows this closely."""

_RUN, _FAR, _TRIES = 3, 2000, 8
"""Words per run by which a block is located, how far after the last at most, and how many runs are tried."""

_ANCHORS = 40
"""The first runs of a block to look up among those that occur once in the file. They locate the block anywhere: after a part
that was not read, or before the previous block if that was located too far on."""

_WORD, _TOKEN = re.compile(r"\S+"), re.compile(r"[^\W_]+")


class SourcePlaces:
    """Finds the blocks of a file in its text, in file order."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = [0, *accumulate(len(line) + 1 for line in source.split("\n"))]
        self._cursor = 0
        self._is_positioned = False  # whether the caller passes the offset of each block
        self._anchors: dict[tuple[str, ...], int] | None = None
        self._last = Place(0)  # for the words of a block that were found: whether each begins a part or continues it

    def go_to(self, offset: int) -> None:
        """Search for the next block from the character ``offset`` on."""
        self._cursor, self._is_positioned = offset, True

    def line(self, offset: int) -> int:
        """Return the line of a character, from 1."""
        return bisect_right(self._lines, offset)

    def at(self, offset: int, start: int = 0) -> Place:
        """Return the place of the character ``offset`` of the file, for text that begins at ``start`` of a block."""
        return Place(start, "", self.line(offset), offset)

    def find(self, text: str) -> list[Place]:
        """Return the places of a block's text: one for each part that is in the file literally.

        Words not found near the previous one are assumed to follow it directly.
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
            word_end = at + stop - begin
            if at - self._cursor > _CLOSE and after:
                following = text[slice(*after)]
                if self._source.find(following, word_end, word_end + _CLOSE + len(following)) < 0:
                    continue
            self._cursor = word_end
            self._add(places, text, begin, at)

    def _go_near(self, text: str) -> None:
        """Move to the block: by word runs that occur once in the file, else to the next run from here on."""
        if not self._is_positioned and (offset := self._anchored(text)) is not None:
            self._cursor = offset
            return
        words = text.split(maxsplit=_TRIES + _RUN)
        if self._offset(" ".join(words[:_RUN])) is not None:
            return
        for first in range(min(len(words) - _RUN, _TRIES)):
            offset = self._source.find(" ".join(words[first : first + _RUN]), self._cursor, self._cursor + _FAR)
            if offset >= 0:
                before = len(" ".join(words[:first])) + _CLOSE * first
                self._cursor = max(self._cursor, offset - before)
                return

    def _anchored(self, text: str) -> int | None:
        """Return where a block begins, by its word runs that occur once in the file."""
        tokens = [match.span() for match in islice(_TOKEN.finditer(text), _ANCHORS + _RUN)]
        words = [text[slice(*token)] for token in tokens]
        runs = enumerate(zip(*(words[n:] for n in range(_RUN)), strict=False))
        anchors = sorted((at, n) for n, run in runs if (at := self._unique_runs.get(run, -1)) >= 0)
        if not anchors:
            return None
        offset, number = anchors[len(anchors) // 2]  # the middle one: a run may occur elsewhere, and here with markup
        for word in reversed(words[:number]):  # back to the block's first words
            before = self._source.rfind(word, max(offset - len(word) - _CLOSE, 0), offset)
            offset = before if before >= 0 else offset
        return max(offset - tokens[0][0], 0)

    @property
    def _unique_runs(self) -> Mapping[tuple[str, ...], int]:
        """Return where each word run that occurs once in the file begins; -1 for those that recur."""
        if self._anchors is None:
            self._anchors = {}
            tokens = [match.span() for match in _TOKEN.finditer(self._source)]
            words = [self._source[slice(*token)] for token in tokens]
            for run, (start, _) in zip(zip(*(words[n:] for n in range(_RUN)), strict=False), tokens, strict=False):
                self._anchors[run] = -1 if run in self._anchors else start
        return self._anchors

    def _offset(self, text: str) -> int | None:
        offset = self._source.find(text, self._cursor, self._cursor + len(text) + _NEAR)
        return None if offset < 0 else offset

    def _add(self, places: list[Place], text: str, start: int, at: int) -> None:
        place = self.at(at, start)
        if not places or place_after(self._last, text[self._last.start : start]) != place:
            places.append(place)
        self._last = place
