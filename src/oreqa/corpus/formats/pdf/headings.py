"""Finds the headings of a PDF: the entries of its outline, matched to lines, or else its numbered headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium

from oreqa.corpus import limits
from oreqa.corpus.builder import is_heading
from oreqa.corpus.formats.pdf.furniture import body_size
from oreqa.corpus.formats.pdf.lines import Line

_NUMBERED = re.compile(
    r"(?:(?:chapter|appendix|section|part)\s+)?((?:\d{1,3}|[A-Z])(?:\.\d{1,3}){0,5})[.:]?\s+[^\W\d_]", re.I
)
_PREFIX = re.compile(
    r"\A(?:(?:chapter|appendix|section|part)\s+)?(?:\d{1,3}|[A-Z]|[IVXLC]{1,6})(?:\.\d{1,3}){0,5}[.:]?\s+", re.I
)
_PAGE = re.compile(r"page\s+\S+|\d+|cover|title page|slide\s+\d+", re.I)
_NO_LETTERS = re.compile(r"[\W_]+")
_TALLER = 1.1
_MOST_LINES = 3
"""Most lines of a heading."""
_MOST_SEARCHED = 400
"""Most lines of a page searched for a title."""
_LONGEST = 120
_LONGEST_PREFIX = 40
"""Longest number of a title, such as "Chapter 3", with white space."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading on a page, before the line at index ``before``, where its own ``lines`` lines start.

    ``lines`` is 0 for an outline title that no line of the page matches.
    """

    level: int
    text: str
    page: int
    before: int
    lines: int


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of a PDF's outline; ``top`` is the height of its target on the page, in points."""

    level: int
    title: str
    page: int
    top: float | None


def read_outline(pdf: pdfium.PdfDocument) -> list[Bookmark]:
    """Return the outline's entries that lead to pages and have a title."""
    entries = []
    for mark in pdf.get_toc():
        dest = mark.get_dest()
        page = dest.get_index() if dest else None
        title = " ".join(mark.get_title().split())
        if page is None or page < 0 or not is_heading(title) or _PAGE.fullmatch(title):
            continue
        mode, view = dest.get_view()
        # PDFium returns 0 where the file gives no height.
        top = (view[1] or None) if mode == pdfium.raw.PDFDEST_VIEW_XYZ and len(view) > 1 else None
        entries.append(Bookmark(mark.level + 1, title, page, top))
        if len(entries) > limits.SECTIONS:
            break
    return entries


def outline_headings(outline: Sequence[Bookmark], pages: Sequence[Sequence[Line]]) -> list[Heading]:
    """Return the outline's entries as headings, in page order."""
    headings = []
    page, first = -1, 0
    for mark in sorted(outline, key=lambda mark: mark.page):
        if mark.page >= len(pages):
            continue
        if mark.page != page:
            page, first = mark.page, 0
        lines = pages[page]
        at, count = _find(mark, lines, first)
        text = mark.title
        if count:
            text = " ".join(line.text for line in lines[at : at + count])
            first = at + count
        else:
            first = max(first, at)
        headings.append(Heading(mark.level, text, page, first - count, count))
    return headings


def _find(mark: Bookmark, lines: Sequence[Line], first: int) -> tuple[int, int]:
    """Find a title: the index of its first line and its number of lines, or the line at its target and 0."""
    title = _letters(mark.title)
    unnumbered = _letters(_PREFIX.sub("", mark.title, count=1))
    matches = []
    for at in range(first, min(len(lines), first + _MOST_SEARCHED)):
        text = ""
        for count in range(1, min(_MOST_LINES, len(lines) - at) + 1):
            text = f"{text} {lines[at + count - 1].text}".strip()
            if len(text) > len(mark.title) + _LONGEST_PREFIX:
                break
            if _letters(text) in (title, unnumbered) or _letters(_PREFIX.sub("", text, count=1)) == unnumbered:
                matches.append((at, count))
                break
    if matches:
        top = mark.top
        return matches[0] if top is None else min(matches, key=lambda match: abs(lines[match[0]].top - top))
    if mark.top is not None:
        below = (at for at in range(first, len(lines)) if lines[at].base < mark.top)
        return next(below, len(lines)), 0
    return first, 0


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


def numbered_headings(pages: Sequence[Sequence[Line]]) -> list[Heading]:
    """Return lines such as "3.2 Title" that are larger than the text, or bold; none if there is only one."""
    size, bold = body_size(pages), _share_of_bold(pages) > 0.5
    headings = []
    for lines in pages:
        for at, line in enumerate(lines):
            match = _NUMBERED.match(line.text)
            stands_out = line.size >= _TALLER * size or (line.bold and not bold and line.size >= 0.98 * size)
            if match and stands_out and len(line.text) <= _LONGEST and line.text[-1] not in ".,;:":
                headings.append(Heading(1 + match[1].count("."), line.text, line.page, at, 1))
    return headings if len(headings) > 1 else []


def biggest_line(pages: Sequence[Sequence[Line]]) -> str:
    """Return the title on the first page: its largest lines, if they are clearly larger than the text, else ""."""
    lines = pages[0] if pages else ()
    if not lines:
        return ""
    biggest = max((line.size for line in lines if len(_letters(line.text)) > 2), default=0.0)
    if biggest < 1.3 * body_size(pages):
        return ""
    text = ""
    for line in lines:
        if line.size > 0.95 * biggest and (text or len(_letters(line.text)) > 2):
            text = f"{text} {line.text}"
        elif text:
            break
    text = text.strip()
    return text if len(text) <= _LONGEST else ""


def _share_of_bold(pages: Sequence[Sequence[Line]]) -> float:
    """Return the share of a document's characters that are bold."""
    letters = sum(len(line.text) for lines in pages for line in lines)
    return sum(len(line.text) for lines in pages for line in lines if line.bold) / max(1, letters)
