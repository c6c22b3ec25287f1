"""Reads the lines of a PDF's page: their text, cleaned, and their position on the page."""

from __future__ import annotations

import ctypes
import operator
import re
import unicodedata
from dataclasses import dataclass, replace
from itertools import pairwise

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from oreqa.corpus.formats.pdf.characters import HYPHEN, Box, Shown, clean_character, font_size, read_characters
from oreqa.corpus.formats.pdf.scripts import HIGHER, SMALLER, find_raised, raise_digits, raised_notes, without_marks

_LEADERS = re.compile(r"(?:(?:\. ?){4}(?:\. ?)*|…[ .…]{3,})")
_BOLD = re.compile(rb"bold|black|heavy|-bd|cmbx|cmssbx|cmcsb|sfbx|sfsx", re.I)
_MONO = re.compile(rb"mono|nimbusmon|courier|cmtt|sltt|sftt|typewriter|consol|fixed", re.I)
_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18
"""Font flags (ISO 32000, table 121)."""
_SYMBOL = re.compile(r"(?:^|\W)\w{1,3}\Z")
"""A symbol at the end of a line, which can have an index; after a longer word, small letters are a footnote mark."""
_NO_GAP = 0.2
"""Widest gap between a symbol and its index, as a share of the font size."""
_BREAKS = {0x0A, 0x0D, HYPHEN}
_WIDE_GAP = 1.5
"""A gap wider than this multiple of the font size separates columns."""
_CELL_GAP = 0.7
"""A gap wider than this multiple of the font size may separate table cells, if other lines have it too."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line between wide gaps: its characters ``start`` to ``end``, and its edges."""

    start: int
    end: int
    left: float
    right: float


@dataclass(slots=True)
class Line:
    """A line of text. Measures are in points from the lower left corner of the page as displayed.

    ``base`` is the height of its baseline, ``size`` its font size.
    """

    page: int
    number: int
    text: str
    left: float
    bottom: float
    right: float
    top: float
    base: float
    size: float
    gap: float = 0.0
    """The widest gap between its characters, as a multiple of the font size."""
    parts: tuple[Part, ...] = ()
    """Its parts between gaps that can separate cells; none if there is no such gap."""
    hyphen: bool = False
    """Whether it ends in a hyphen that breaks a word."""
    leaders: bool = False
    """Whether it had dot leaders, as between a heading and its page in a table of contents."""
    bold: bool = False
    mono: bool = False
    """Whether its font is monospaced, as for code."""
    margin: float = 0.0
    """The right edge of its column."""
    edge: float = 0.0
    """The left edge of most lines in its column."""
    pitch: float = 0.0
    """The distance between baselines in its column."""
    start: int = 0
    """The index of its first character in its line of the page, if it is a cell of the line."""

    @property
    def gapped(self) -> bool:
        """Whether it has a gap as wide as between columns of text."""
        return self.gap > _WIDE_GAP


def page_lines(page: pdfium.PdfPage, text: pdfium.PdfTextPage, number: int) -> list[tuple[Line, list[int]]]:
    """Return the lines of page ``number``, from 0, in file order, each with PDFium's index of every character."""
    shown = Shown.of(page)
    codes, boxes = read_characters(shown, text)
    lines: list[tuple[Line, list[int]]] = []
    breaks = [i for i, code in enumerate(codes) if code in _BREAKS]
    for start, end in pairwise([-1, *breaks, len(codes)]):
        row = range(start + 1, end + (end < len(codes) and codes[end] == HYPHEN))
        line = _line(text, codes, boxes, row, number, None if shown.rotation else shown.bottom)
        if line is None or not shown.intersects(line[0].left, line[0].bottom, line[0].right, line[0].top):
            continue
        if lines and _same_row(lines[-1][0], line[0]):
            lines[-1] = _merge(text, lines[-1], line)
        else:
            lines.append(line)
    if notes := raised_notes([line.text for line, _ in lines]):
        lines = [_without_marks(line, places, notes) for line, places in lines]
    for place, (line_of_page, places) in enumerate(lines):
        line_of_page.number = place
        if line_of_page.gap > _CELL_GAP:
            line_of_page.parts = _parts(line_of_page, places, boxes)
    return lines


def _parts(line: Line, places: list[int], boxes: list[Box]) -> tuple[Part, ...]:
    letters = [(at, boxes[place]) for at, (char, place) in enumerate(zip(line.text, places, strict=True)) if char != " "]
    gap = _CELL_GAP * line.size
    cuts = [at for at, ((_, a), (_, b)) in enumerate(pairwise(letters), 1) if b[0] - a[2] > gap]
    groups = [letters[start:end] for start, end in pairwise([0, *cuts, len(letters)])]
    return tuple(Part(group[0][0], group[-1][0] + 1, group[0][1][0], group[-1][1][2]) for group in groups)


def _without_marks(line: Line, places: list[int], notes: frozenset[str]) -> tuple[Line, list[int]]:
    line.text, places = without_marks(line.text, places, notes)
    return line, places


def _line(
    text: pdfium.PdfTextPage, codes: list[int], boxes: list[Box], row: range, number: int, origin: float | None
) -> tuple[Line, list[int]] | None:
    """Return a row of characters as a line, None if none is visible.

    ``origin`` is the height of the page's lower edge, None if the page is rotated.
    """
    chars, places, hyphen = _visible(codes, row)
    if not chars:
        return None
    clean_text, places, leaders = _without_leaders("".join(chars), places)
    letters = [i for i, char in zip(places, clean_text, strict=True) if char != " "]
    lefts, bottoms, rights, tops = zip(*(boxes[i] for i in letters), strict=True)
    bottom, top = min(bottoms), max(tops)
    size, base = _measure(text, letters, origin, top - bottom, bottom)
    clean_text, places = find_raised(text, boxes, clean_text, places, size, base)
    bold, mono = _font(text, letters)
    gap = max(map(operator.sub, lefts[1:], rights), default=0.0)
    line = Line(
        page=number,
        number=0,
        text=clean_text,
        left=min(lefts),
        bottom=bottom,
        right=max(rights),
        top=top,
        base=base,
        size=size,
        gap=gap / size,
        hyphen=hyphen,
        leaders=leaders,
        bold=bold,
        mono=mono,
    )
    return line, places


def _visible(codes: list[int], row: range) -> tuple[list[str], list[int], bool]:
    """Return a row's characters as text, PDFium's index of each, and whether it ends in a hyphen that breaks a word."""
    plain = codes[row.start : row.stop]
    if plain and plain[0] > 0x20 and plain[-1] > 0x20 and min(plain) >= 0x20 and max(plain) < 0x7F:
        text = "".join(map(chr, plain))
        if "  " not in text:
            return list(text), list(row), False
    chars: list[str] = []
    places: list[int] = []
    hyphen = False
    for i in row:
        code = codes[i]
        if 0x20 < code < 0x7F:
            chars.append(chr(code))
            places.append(i)
            hyphen = False
            continue
        clean = "-" if code == HYPHEN else clean_character(code)
        if code in (HYPHEN, 0xAD):
            hyphen = True
        elif clean == " ":
            if not chars or chars[-1] == " ":
                continue
        elif clean:
            hyphen = False
            if len(clean) == 1 and chars and unicodedata.combining(clean):
                whole = unicodedata.normalize("NFC", chars[-1] + clean)
                if len(whole) == 1:
                    chars[-1] = whole
                    continue
        chars.extend(clean)
        places.extend([i] * len(clean))
    while chars and chars[-1] == " ":
        chars.pop()
        places.pop()
    if hyphen and chars and chars[-1] != "-":
        chars.append("-")
        places.append(row[-1])
    return chars, places, hyphen


def _without_leaders(text: str, places: list[int]) -> tuple[str, list[int], bool]:
    """Shorten dot leaders to three dots. Returns the text, its places, and whether there were any."""
    pieces, kept, end = [], [], 0
    for match in _LEADERS.finditer(text):
        pieces.append(text[end : match.start()] + "... ")
        kept += places[end : match.start()] + [places[match.start()]] * 4
        end = match.end()
    if not end:
        return text, places, False
    if end == len(text):
        pieces[-1] = pieces[-1][:-1]
        kept.pop()
    return "".join(pieces) + text[end:], kept + places[end:], True


def _measure(
    text: pdfium.PdfTextPage, places: list[int], origin: float | None, height: float, bottom: float
) -> tuple[float, float]:
    """Return a line's font size, the median of three characters, and the height of its baseline."""
    size = sorted(font_size(text, places[at]) for at in (0, len(places) // 2, -1))[1]
    if not 0 < size < 1000:
        size = max(height, 1.0)
    if origin is None:
        return size, bottom
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetCharOrigin(text.raw, places[0], x, y)
    return size, y.value - origin


def _font(text: pdfium.PdfTextPage, places: list[int]) -> tuple[bool, bool]:
    """Return whether the first, middle and last character are all bold, and all monospaced."""
    bold = mono = True
    for at in (len(places) // 2, 0, -1):
        name, flags = ctypes.create_string_buffer(64), ctypes.c_int()
        pdfium_c.FPDFText_GetFontInfo(text.raw, places[at], name, 64, flags)
        bold = bold and (bool(flags.value & _FORCE_BOLD) or _BOLD.search(name.value) is not None)
        mono = mono and (bool(flags.value & _FIXED_PITCH) or _MONO.search(name.value) is not None)
        if not bold and not mono:
            break
    return bold, mono


def _same_row(a: Line, b: Line) -> bool:
    """Return whether ``b`` continues the row of ``a``, like parts of a formula and table cells."""
    if a.hyphen or b.left < max(a.right - 2 * a.size, (a.left + a.right) / 2):
        return False
    overlap = min(a.top, b.top) - max(a.bottom, b.bottom)
    near = abs(b.left - a.right) < _NO_GAP * a.size
    return overlap > (0 if near else 0.5 * min(a.top - a.bottom, b.top - b.bottom))


def _merge(text: pdfium.PdfTextPage, a: tuple[Line, list[int]], b: tuple[Line, list[int]]) -> tuple[Line, list[int]]:
    (first, places), (second, second_places) = a, b
    size = max(first.size, second.size)
    longer = first if len(first.text) >= len(second.text) else second
    before, following = first.text, second.text
    near = abs(second.left - first.right) < _NO_GAP * size
    near = near and font_size(text, second_places[0]) < SMALLER * font_size(text, places[-1])
    if near and following.isdecimal() and _is_raised(second, first):
        following = raise_digits(following)
    elif before.isdecimal() and len(before) <= 2 and _is_raised(first, second):
        before = raise_digits(before)
    gap = "" if near and (_SYMBOL.search(first.text) or following != second.text) else " "
    line = replace(
        longer,
        text=f"{before}{gap}{following}",
        left=min(first.left, second.left),
        bottom=min(first.bottom, second.bottom),
        right=max(first.right, second.right),
        top=max(first.top, second.top),
        gap=max(first.gap, second.gap, (second.left - first.right) / size),
        hyphen=second.hyphen,
        leaders=first.leaders or second.leaders,
        mono=first.mono and second.mono,
    )
    return line, [*places, *([places[-1]] if gap else []), *second_places]


def _is_raised(a: Line, b: Line) -> bool:
    """Return whether the line ``a`` is an exponent or a footnote mark beside the line ``b``."""
    return a.size < SMALLER * b.size and a.base > b.base + HIGHER * b.size
