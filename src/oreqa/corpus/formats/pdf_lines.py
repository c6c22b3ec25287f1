"""The lines of a PDF's page: clean text, and where on the page it stands."""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points from the lower left corner of the page."""

_HYPHEN = 0x02
"""What PDFium gives for a hyphen at the end of a line within a word."""

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_BULLETS = {0xF0B7, 0xF0A7, 0xF0A8, 0xF076, 0xF0D8, 0xF0FC}
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
_LEADERS = re.compile(r"(?:(?:\. ?){4}(?:\. ?)*|…[ .…]{3,})")
_BOLD = re.compile(rb"bold|black|heavy|-bd|cmbx|cmssbx|cmcsb|sfbx|sfsx", re.I)
_MONO = re.compile(rb"mono|courier|cmtt|sltt|sftt|typewriter|consol|fixed", re.I)
_FIXED_PITCH, _FORCE_BOLD = 1, 1 << 18
"""Flags of a font (ISO 32000, table 121)."""
_SIGN = re.compile(r"(?:^|\W)\w{1,3}\Z")
"""A letter or number at the end of a line, that can have an index; a word has a footnote's mark at most."""
_NO_GAP = 0.2
_SCRIPT = 0.9
"""Of a letter's size: smaller ones so near are its index or exponent."""
_WIDE_GAP = 1.5
"""Of the size of the letters: a wider gap parts the cells of a table, or columns."""


@dataclass(slots=True)
class Line:
    """A line of text. Measures are in points as the page is shown, its lower left corner at 0, 0."""

    page: int
    number: int
    text: str
    left: float
    bottom: float
    right: float
    top: float
    base: float
    size: float
    gapped: bool = False
    """It has a gap as between the cells of a table."""
    hyphen: bool = False
    """The hyphen at its end breaks a word."""
    leaders: bool = False
    """It had a row of dots, as between a heading and its page in a table of contents."""
    bold: bool = False
    mono: bool = False
    """Its letters are all of one width, as of code."""
    margin: float = 0.0
    """The right end of its column."""
    edge: float = 0.0
    """Where most lines of its column begin."""
    pitch: float = 0.0
    """From line to line in its column."""


@functools.cache
def _clean(code: int) -> str:
    """A character as text: "" for what shows nothing, " " for blanks."""
    if code in _LIGATURES:
        return _LIGATURES[code]
    if code in _BULLETS:
        return "•"
    char = chr(code)
    if char.isspace():
        return " "
    return "" if unicodedata.category(char) in _UNSEEN else char


def read_lines(page: pdfium.PdfPage, text: pdfium.PdfTextPage, number: int) -> Iterator[tuple[Line, list[int]]]:
    """The lines of page ``number``, from 0, in the order of the file, each with PDFium's number of every character."""
    codes, boxes = _characters(text)
    rotation = page.get_rotation()
    width, height = page.get_size()
    left, bottom, *_ = page.get_bbox()
    if rotation or left or bottom:
        boxes = [_turn((a - left, b - bottom, c - left, d - bottom), rotation, width, height) for a, b, c, d in boxes]
    rows: list[list[int]] = [[]]
    for i, code in enumerate(codes):
        if code in (0x0A, 0x0D):
            if rows[-1]:
                rows.append([])
        else:
            rows[-1].append(i)
            if code == _HYPHEN:
                rows.append([])
    last: tuple[Line, list[int]] | None = None
    count = 0
    for row in rows:
        line = _line(text, codes, boxes, row, number, None if rotation else bottom)
        if line is None or line[0].right < 0 or line[0].top < 0 or line[0].left > width or line[0].bottom > height:
            continue
        if last is not None and _same_row(last[0], line[0]):
            last = _merge(text, last, line)
            continue
        if last is not None:
            last[0].number = count
            count += 1
            yield last
        last = line
    if last is not None:
        last[0].number = count
        yield last


def _characters(text: pdfium.PdfTextPage) -> tuple[list[int], list[Box]]:
    """Codes and boxes of the page's characters, by PDFium's numbers."""
    raw, count = text.raw, text.count_chars()
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    unicode, box = pdfium_c.FPDFText_GetUnicode, pdfium_c.FPDFText_GetCharBox
    codes, boxes = [], []
    for i in range(count):
        codes.append(unicode(raw, i))
        box(raw, i, left, right, bottom, top)
        boxes.append((left.value, bottom.value, right.value, top.value))
        if codes[-1] == _HYPHEN and pdfium_c.FPDFText_IsHyphen(raw, i) != 1:
            codes[-1] = 0  # a sign of a font that says no letters for its codes
    for i in range(count - 1):  # a character beyond the first 65,536 comes in two halves
        if 0xD800 <= codes[i] < 0xDC00 and 0xDC00 <= codes[i + 1] < 0xE000:
            codes[i] = 0x10000 + (codes[i] - 0xD800 << 10) + codes[i + 1] - 0xDC00
    return codes, boxes


def _turn(box: Box, rotation: int, width: float, height: float) -> Box:
    """A box as it lies on the page that is shown, of ``width`` and ``height``."""
    left, bottom, right, top = box
    if rotation == 0:
        return box
    if rotation == 90:
        return bottom, height - right, top, height - left
    if rotation == 180:
        return width - right, height - top, width - left, height - bottom
    return width - top, left, width - bottom, right


def _line(
    text: pdfium.PdfTextPage, codes: list[int], boxes: list[Box], row: list[int], number: int, origin: float | None
) -> tuple[Line, list[int]] | None:
    """The clean text of a row of characters; None if nothing of it shows. ``origin`` is the page's lower end, None of
    a page that is turned."""
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
        clean = "-" if code == _HYPHEN else _clean(code)
        if code in (_HYPHEN, 0xAD):
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
    if not chars:
        return None
    clean_text, places, leaders = _without_leaders("".join(chars), places)
    letters = [i for i, char in zip(places, clean_text, strict=True) if char != " "]
    lefts, bottoms, rights, tops = zip(*(boxes[i] for i in letters), strict=True)
    bottom, top = min(bottoms), max(tops)
    size, base = _measure(text, letters, origin, top - bottom, bottom)
    bold, mono = _font(text, letters)
    gap = max(map(operator.sub, lefts[1:], rights), default=0.0)
    return Line(
        number, 0, clean_text, min(lefts), bottom, max(rights), top, base, size,
        gapped=gap > _WIDE_GAP * size, hyphen=hyphen, leaders=leaders, bold=bold, mono=mono,
    ), places  # fmt: skip


def _without_leaders(text: str, places: list[int]) -> tuple[str, list[int], bool]:
    """A row of dots becomes three."""
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
    """The size of a line's letters, by three of them, and the height that they stand on."""
    size = sorted(_size(text, places[at]) for at in (0, len(places) // 2, -1))[1]
    if not 0 < size < 1000:
        size = max(height, 1.0)
    if origin is None:
        return size, bottom
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium_c.FPDFText_GetCharOrigin(text.raw, places[0], x, y)
    return size, y.value - origin


def _size(text: pdfium.PdfTextPage, char: int) -> float:
    """Of a character's font, in points."""
    matrix = pdfium_c.FS_MATRIX()
    pdfium_c.FPDFText_GetMatrix(text.raw, char, matrix)
    return float(pdfium_c.FPDFText_GetFontSize(text.raw, char)) * math.hypot(matrix.c, matrix.d)


def _font(text: pdfium.PdfTextPage, places: list[int]) -> tuple[bool, bool]:
    """Whether the first letter, the last and the one in the middle are bold, and of fonts with one width for all letters."""
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
    """Whether ``b`` goes on beside ``a``, as the parts of a formula or the cells of a row do."""
    if a.hyphen or b.left < max(a.right - 2 * a.size, (a.left + a.right) / 2):
        return False
    overlap = min(a.top, b.top) - max(a.bottom, b.bottom)
    near = abs(b.left - a.right) < _NO_GAP * a.size
    return overlap > (0 if near else 0.5 * min(a.top - a.bottom, b.top - b.bottom))


def _merge(text: pdfium.PdfTextPage, a: tuple[Line, list[int]], b: tuple[Line, list[int]]) -> tuple[Line, list[int]]:
    (first, places), (second, second_places) = a, b
    size = max(first.size, second.size)
    longer = first if len(first.text) >= len(second.text) else second
    near = abs(second.left - first.right) < _NO_GAP * size and _SIGN.search(first.text) is not None
    gap = "" if near and _size(text, second_places[0]) < _SCRIPT * _size(text, places[-1]) else " "
    return Line(
        first.page, 0, f"{first.text}{gap}{second.text}", min(first.left, second.left), min(first.bottom, second.bottom),
        max(first.right, second.right), max(first.top, second.top), longer.base, longer.size,
        gapped=first.gapped or second.gapped or second.left - first.right > _WIDE_GAP * size,
        hyphen=second.hyphen, leaders=first.leaders or second.leaders, bold=longer.bold, mono=first.mono and second.mono,
    ), [*places, *([places[-1]] if gap else []), *second_places]  # fmt: skip


def share_of_bold(pages: Sequence[Sequence[Line]]) -> float:
    """The share of a document's letters that is bold."""
    letters = sum(len(line.text) for lines in pages for line in lines)
    return sum(len(line.text) for lines in pages for line in lines if line.bold) / max(1, letters)


def body_size(pages: Sequence[Sequence[Line]]) -> float:
    """The size of most letters of a document."""
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0
