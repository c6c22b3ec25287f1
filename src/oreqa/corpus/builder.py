"""TextBuilder: assembles a document's text block by block, with its headings, places and word counts."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from oreqa.core import Document, PageWords, Place, Section, place_after
from oreqa.corpus import limits
from oreqa.errors import DocumentError
from oreqa.text.names import is_name
from oreqa.text.releases import release_of

GAP = "\n\n"
_WORD = re.compile(r"\w+")

_PLACEHOLDER = re.compile(
    r"untitled.*|\(?anonymous\)?|document ?\d*|presentation ?\d*|powerpoint[- ]pr.sentation|slide \d+|title"
    r"|microsoft (?:word|powerpoint|excel) - .*"
    r"|.*\.(?:docx?|odt|rtf|tex|dvi|ps|indd|pptx?|xlsx?|pdf|html?|md|qxd|fm|pmd|wpd)|[^ ]*\.\w{3,4}",
    re.IGNORECASE,
)
"""Titles that programs write into file properties."""


def count_words(text: str) -> int:
    """Count runs of letters and digits, so that spacing and line breaks hardly change the count."""
    return sum(1 for _ in _WORD.finditer(text))


def file_title(path: Path) -> str:
    """Return a file's name as words: ``annual_report-2024.txt`` gives ``annual report 2024``."""
    return re.sub(r"[_\-\s]+", " ", path.stem).strip() or path.name


def real_title(title: str) -> str:
    """Return a title on one line, or "" for a program's placeholder such as "Microsoft Word - plan.doc"."""
    title = " ".join(title.split())
    return "" if _PLACEHOLDER.fullmatch(title) else title


def is_heading(line: str) -> bool:
    """Return whether a line marked up as a heading is short enough to be one. Longer lines are treated as text."""
    return 0 < len(line) <= limits.TITLE_CHARACTERS


class TextBuilder:
    """Assembles a document's text in file order.

    Blocks are separated by a blank line. A block that continues or explains the previous one is ``joined`` to it by a
    single newline, which keeps both in one paragraph. Each heading starts a section; one that names an option, a function or
    a release is also the first line of its text. Raises DocumentError when a limit is exceeded.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.title = ""
        self._pieces: list[str] = []
        self._length = 0
        self._sections: list[Section] = []
        self._start: int | None = None  # offset of the current section, once it has text
        self._headings: list[tuple[int, str]] = []
        # Headings without text under them so far: level, text and places.
        self._unused: list[tuple[int, str, str | Sequence[Place]]] = []
        self._places: list[Place] = []
        self._pages: list[PageWords] = []
        self._page: tuple[str, int] | None = None
        self._read = 0
        self._omitted: Counter[str] = Counter()

    def start_page(self, name: str, words: int) -> None:
        """Start the page ``name`` ("" for a file without pages), whose source has ``words`` words."""
        self._end_page()
        self._page = (name, words)

    @property
    def length(self) -> int:
        """Length of the text so far, in characters."""
        return self._length

    def add_page(self, page: PageWords) -> None:
        """Add a page whose words the reader counted itself, for formats whose paragraphs span pages."""
        self._pages.append(page)

    def add_title(self, text: str) -> None:
        """Make a title found in the text the document's title, or a level 1 heading if the document already has a title.

        Its words count as read.
        """
        if self.title or not is_heading(text):
            self.add_heading(1, text)
        else:
            self.title = text
            self._read += count_words(text)

    def add_heading(self, level: int, text: str, place: str | Sequence[Place] = "", *, added: bool = False) -> None:
        """Start a section under the open headings of lower levels. A heading that is too long becomes a block.

        An ``added`` heading, such as "slide 3", is not in the file: it never becomes text and none of its words count.
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
        self, text: str, place: str | Sequence[Place] = "", *, joined: bool = False, mark: str = "", words: int | None = None
    ) -> None:
        """Add a paragraph, list item, table row or code block.

        ``place`` is the name of its place, or several places whose starts are offsets into ``text``. A ``joined`` block
        stays with the previous block of the same section. A ``mark``, such as a list item's number, is put before the
        text; its words do not count as read. If other words of the block are not in the file either, such as the column
        names of a row, ``words`` is the number that counts.
        """
        stripped = text.strip()
        if not stripped:
            return
        heading = self._unused[-1] if self._unused else None
        self._unused.clear()
        if heading and (is_name(heading[1]) or release_of(heading[1])):
            # "--verbose" above its description, or "2.1.0": an answer, which must be in the text
            self._append(heading[1], heading[2], joined=False)
            joined = True
        self._read += count_words(stripped) if words is None else words
        skipped = text[: len(text) - len(text.lstrip())]
        self._append(f"{mark} {stripped}" if mark else stripped, place, joined, skipped)

    def add_row(self, text: str, place: str = "", *, is_first: bool, starts_paragraph: bool, words: int) -> None:
        """Add a row of a table, in one paragraph with the rows before it unless it ``starts_paragraph``."""
        self.add_block(text, place, joined=not (is_first or starts_paragraph), words=words)

    def leave_out(self, reason: str, text: str) -> None:
        """Count the words of ``text``, which is omitted on purpose, such as navigation."""
        if words := count_words(text):
            self._omitted[reason] += words

    def document(self, title: str = "") -> Document:
        """Return the document. Its title is ``title``, else the one from ``add_title``, else the file's name."""
        self._end_section(0)
        self._end_page()
        if not self._pieces and self.title:  # the title is the only text to search
            self._append(self.title, "", joined=False)
            self._end_section(0)
        text = "".join(self._pieces)
        return Document(
            key=str(self.path),
            title=title or self.title or file_title(self.path),
            text=text,
            sections=tuple(self._sections),
            places=tuple(self._places),
            pages=tuple(self._pages),
        )

    def _append(self, text: str, place: str | Sequence[Place], joined: bool, skipped: str = "") -> None:
        """Append a block. Places are offsets into ``skipped + text``, the block before white space was stripped."""
        if self._pieces:
            gap = "\n" if joined and self._start is not None else GAP
            self._pieces.append(gap)
            self._length += len(gap)
        if self._start is None:
            self._start = self._length
        for new in _places(place, skipped):
            last = self._places[-1] if self._places else None
            if new.start < len(text) and (new.line is not None or last is None or last.name != new.name):
                self._places.append(replace(new, start=self._length + new.start))
        self._pieces.append(text)
        self._length += len(text)
        if self._length > limits.TEXT_CHARACTERS:
            raise DocumentError(f"its text is longer than {limits.TEXT_CHARACTERS // 10**6} million characters: split it")

    def _end_section(self, level: int) -> None:
        """Close the section. Headings of ``level`` or deeper without text under them become text themselves."""
        empty = [row for row in self._unused if row[0] >= level]
        if empty:
            self._headings = [pair for pair in self._headings if pair[0] < empty[0][0]]
            for _, text, place in empty:
                self._append(text, place, joined=True)
            self._unused.clear()
        if self._start is not None:
            if len(self._sections) == limits.SECTIONS:
                raise DocumentError(f"it has more than {limits.SECTIONS:,} sections: split it")
            self._sections.append(Section(self._start, self._length, join_headings(self._headings)))
            self._start = None

    def _end_page(self) -> None:
        if self._page is not None:
            self._pages.append(PageWords(*self._page, self._read, dict(self._omitted)))
        self._page = None
        self._read = 0
        self._omitted.clear()


def _places(place: str | Sequence[Place], skipped: str) -> list[Place]:
    """Shift places to a text that lost its first characters, ``skipped``; those that began there now begin at 0."""
    if isinstance(place, str):
        return [Place(0, place)] if place else []
    return [replace(place, start=place.start - len(skipped)) for place in clip_places(place, len(skipped), skipped)]


def clip_places(
    places: Sequence[Place], start: int, text: str, end: float = math.inf, earlier: Place | None = None
) -> list[Place]:
    """Return the places from ``start`` to ``end``, in text order, with the first one moved to ``start``.

    ``text`` is the document's, up to ``start`` at least. ``earlier`` is the first place of a clipping not far before
    ``start``, which makes splitting a document linear in its length.
    """
    first = bisect_right(places, start, key=attrgetter("start"))
    last = bisect_left(places, end, key=attrgetter("start"))
    before = places[first - 1] if first else None
    if before and earlier and before.start <= earlier.start <= start:
        before = earlier
    moved = [place_after(before, text[before.start : start])] if before else []
    return [*moved, *places[first:last]]


def join_headings(path: Sequence[tuple[int, str]]) -> str:
    """Join a heading path of (level, text) into a section's heading, outermost first."""
    return " > ".join(name for _, name in path)[: limits.TITLE_CHARACTERS]
