"""A document's text, collected block by block with its headings, places and counts of words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from oreqa.core import Document, PageWords, Place, Section, place_after
from oreqa.corpus import limits
from oreqa.errors import DocumentError

GAP = "\n\n"
_WORD = re.compile(r"\w+")


def count_words(text: str) -> int:
    """Runs of letters and digits: a count that hyphens, blanks and line ends change little."""
    return sum(1 for _ in _WORD.finditer(text))


def file_title(path: Path) -> str:
    """A file's name as words: ``annual_report-2024.txt`` is ``annual report 2024``."""
    return re.sub(r"[_\-\s]+", " ", path.stem).strip() or path.name


def is_heading(line: str) -> bool:
    """Whether a line that is marked as a heading is one: too long a line is text, and no model would read it whole."""
    return 0 < len(line) <= limits.TITLE_CHARACTERS


class TextBuilder:
    """Collects what a reader finds, in the order of the file.

    Blocks are parted by a blank line; a block that explains or goes on with the one before is ``joined`` to it by a line
    end, and stays in its passage. A section begins with each heading. Raises DocumentError where a limit is exceeded.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.title = ""
        self._pieces: list[str] = []
        self._length = 0
        self._sections: list[Section] = []
        self._start: int | None = None  # of the section, once it has text
        self._headings: list[tuple[int, str]] = []
        self._unused: list[
            tuple[int, str, str | Sequence[Place]]
        ] = []  # headings that no text stands under yet, with their places
        self._places: list[Place] = []
        self._pages: list[PageWords] = []
        self._page: tuple[str, int] | None = None
        self._read = 0
        self._left_out: Counter[str] = Counter()

    def start_page(self, name: str, words: int) -> None:
        """What follows is of the page ``name``, "" for a file without pages, whose source has so many words."""
        self._end_page()
        self._page = (name, words)

    @property
    def length(self) -> int:
        """Characters of the text so far."""
        return self._length

    def add_page(self, page: PageWords) -> None:
        """A page whose words the reader has counted itself, for paragraphs that go over several pages."""
        self._pages.append(page)

    def add_title(self, text: str) -> None:
        """A title that stands in the text: it counts as read, and is the document's unless that has one. A second one is a
        heading."""
        if self.title or not is_heading(text):
            self.add_heading(1, text)
        else:
            self.title = text
            self._read += count_words(text)

    def add_heading(self, level: int, text: str, place: str | Sequence[Place] = "", *, added: bool = False) -> None:
        """Begin a section under the headings of smaller levels. What is too long for a heading is a block.

        A heading that is ``added``, such as "slide 3", does not stand in the file: it is no text, and no word of the source.
        """
        text = " ".join(text.split())
        if not is_heading(text):
            self.add_block(text, place)
            return
        self._end_section(level)
        self._headings = [pair for pair in self._headings if pair[0] < level] + [(level, text)]
        self._unused = [row for row in self._unused if row[0] < level]
        if not added:
            self._read += count_words(text)
            self._unused.append((level, text, place))

    def add_block(
        self, text: str, place: str | Sequence[Place] = "", *, joined: bool = False, mark: str = "", added: bool = False
    ) -> None:
        """A paragraph, an item of a list, a row of a table or code, and the place where it stands.

        Several places begin at characters of ``text``. A ``joined`` block stays with the one before, if that is of the same
        section. A ``mark``, such as the number of an item of a list, is put before the text, and is no word of the source's.
        A block that is ``added``, such as the names of an e-mail's attachments, is no word of the source's at all.
        """
        stripped = text.strip()
        if not stripped:
            return
        self._unused.clear()
        self._read += 0 if added else count_words(stripped)
        skipped = text[: len(text) - len(text.lstrip())]
        self._append(f"{mark} {stripped}" if mark else stripped, place, joined, skipped)

    def leave_out(self, reason: str, text: str) -> None:
        """Count the words of what is not read on purpose, such as navigation."""
        if words := count_words(text):
            self._left_out[reason] += words

    def document(self, title: str = "") -> Document:
        """What was collected. Its title is ``title``, that of ``add_title``, or the file's name."""
        self._end_section(0)
        self._end_page()
        if not self._pieces and self.title:  # nothing else can be found of it
            self._append(self.title, "", joined=False)
            self._end_section(0)
        text = "".join(self._pieces)
        return Document(
            str(self.path), title or self.title or file_title(self.path), text, tuple(self._sections), {},
            tuple(self._places), tuple(self._pages),
        )  # fmt: skip

    def _append(self, text: str, place: str | Sequence[Place], joined: bool, skipped: str = "") -> None:
        """``skipped`` is what stood before ``text`` in what the places count in."""
        if self._pieces:
            gap = "\n" if joined and self._start is not None else GAP
            self._pieces.append(gap)
            self._length += len(gap)
        if self._start is None:
            self._start = self._length
        for moved in _places(place, skipped):
            last = self._places[-1] if self._places else None
            if moved.start < len(text) and (moved.line is not None or last is None or last.name != moved.name):
                self._places.append(replace(moved, start=self._length + moved.start))
        self._pieces.append(text)
        self._length += len(text)
        if self._length > limits.TEXT_CHARACTERS:
            raise DocumentError(f"its text is longer than {limits.TEXT_CHARACTERS // 10**6} million characters: split it")

    def _end_section(self, level: int) -> None:
        """End the section. Headings of at least ``level`` that nothing stands under become text themselves."""
        bare = [row for row in self._unused if row[0] >= level]
        if bare:
            self._headings = [pair for pair in self._headings if pair[0] < bare[0][0]]
            for _, text, place in bare:
                self._append(text, place, joined=True)
            self._unused.clear()
        if self._start is not None:
            if len(self._sections) == limits.SECTIONS:
                raise DocumentError(f"it has more than {limits.SECTIONS:,} sections: split it")
            self._sections.append(Section(self._start, self._length, join_headings(self._headings)))
            self._start = None

    def _end_page(self) -> None:
        if self._page is not None:
            self._pages.append(PageWords(*self._page, self._read, dict(self._left_out)))
        self._page = None
        self._read = 0
        self._left_out.clear()


def _places(place: str | Sequence[Place], skipped: str) -> list[Place]:
    """Places by the characters of a text whose beginning is gone; those that lie there become one at its start."""
    if isinstance(place, str):
        return [Place(0, place)] if place else []
    return [replace(place, start=place.start - len(skipped)) for place in clip_places(place, len(skipped), skipped)]


def clip_places(places: Sequence[Place], start: int, text: str, end: float = math.inf) -> list[Place]:
    """The places of ``start`` to ``end``, the first of them at ``start`` itself; ``text`` is the document's, up to ``start``
    at least."""
    before = [place for place in places if place.start <= start]
    first = [place_after(before[-1], text[before[-1].start : start])] if before else []
    return [*first, *(place for place in places if start < place.start < end)]


def join_headings(path: Sequence[tuple[int, str]]) -> str:
    """A section's heading: those it stands under, outermost first."""
    return " > ".join(name for _, name in path)[: limits.TITLE_CHARACTERS]
