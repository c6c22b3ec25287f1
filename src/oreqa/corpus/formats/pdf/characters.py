"""Reads the characters of a PDF's page: their code points, cleaned, and their boxes."""

from __future__ import annotations

import ctypes
import functools
import math
import unicodedata
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points from the lower left corner of the page."""

HYPHEN = 0x02
"""PDFium's code for a hyphen at the end of a line that breaks a word."""
_HYPHEN_OF_TEXT = 0xFFFE
"""The same code in the text of a whole page."""

_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
_BULLETS = {0xF0B7, 0xF0A7, 0xF0A8, 0xF076, 0xF0D8, 0xF0FC}
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn"}
_COMBINING = dict(
    zip(
        map(ord, "`´ˆ˜¯˘˙¨˚˝ˇ¸˛"),
        map(ord, "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328"),
        strict=True,
    )
)
"""Standalone accents, with their combining forms."""
ACCENTS = "".join(map(chr, _COMBINING))
_BELOW = {0x0327, 0x0328}
_DOTLESS = {0x131: "i", 0x237: "j"}
_FAR = 300
"""Most characters between an accent and its letter: fonts without accented letters may draw a line's accents after it."""
_NO_SPACE = 0.15
"""Widest gap within a word, as a share of the font size."""


@functools.cache
def clean_character(code: int) -> str:
    """Return a character as text: "" if it is invisible, " " for any white space."""
    if code in _LIGATURES:
        return _LIGATURES[code]
    if code in _BULLETS:
        return "•"
    char = chr(code)
    if char.isspace():
        return " "
    return "" if unicodedata.category(char) in _INVISIBLE else char


def read_characters(shown: Shown, text: pdfium.PdfTextPage) -> tuple[list[int], list[Box]]:
    """Return the code points and boxes of the page's characters, by PDFium's index; 0 means one to omit.

    Letters with separately drawn accents are composed. Boxes are those of the displayed page.
    """
    codes, boxes = _raw_characters(text)
    if shown.is_moved:
        boxes = [shown.turn(box) for box in boxes]
    if not _COMBINING.keys().isdisjoint(codes):
        for at, code in enumerate(codes):
            if code in _COMBINING:
                _compose(text, codes, boxes, at)
    return codes, boxes


def _compose(text: pdfium.PdfTextPage, codes: list[int], boxes: list[Box], at: int) -> None:
    """Put the accent at the index ``at`` on the letter that it is drawn above or below, if there is one."""
    mark = _COMBINING[codes[at]]
    left, bottom, right, top = boxes[at]
    middle = (left + right) / 2
    best, nearest = None, 0.0
    for i in range(max(0, at - _FAR), min(len(codes), at + _FAR)):
        a, b, c, d = boxes[i]
        if not (a <= middle <= c or left <= (a + c) / 2 <= right) or i == at:
            continue
        gap = b - top if mark in _BELOW else bottom - d
        if not -0.4 * (d - b) < gap < 0.5 * (d - b):
            continue
        whole = unicodedata.normalize("NFC", _DOTLESS.get(codes[i], chr(codes[i])) + chr(mark))
        distance = abs((a + c) / 2 - middle)
        if len(whole) == 1 and (best is None or distance < nearest):
            best, nearest = (i, ord(whole)), distance
    if best is None:
        return
    codes[best[0]], codes[at] = best[1], 0
    first, last = at, at
    while first and (codes[first - 1] == 0 or _is_added_space(text, codes, first - 1)):
        first -= 1
    while last + 1 < len(codes) and (codes[last + 1] == 0 or _is_added_space(text, codes, last + 1)):
        last += 1
    if first and last + 1 < len(codes):
        height = max(1.0, font_size(text, first - 1))
        if -height < boxes[last + 1][0] - boxes[first - 1][2] < _NO_SPACE * height:
            codes[first : last + 1] = [0] * (last + 1 - first)


def _is_added_space(text: pdfium.PdfTextPage, codes: list[int], at: int) -> bool:
    """Return whether a space is not in the file: PDFium adds it where it sees a gap."""
    return codes[at] == 0x20 and pdfium_c.FPDFText_IsGenerated(text.raw, at) == 1


def _raw_characters(text: pdfium.PdfTextPage) -> tuple[list[int], list[Box]]:
    raw, count = text.raw, text.count_chars()
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    box = pdfium_c.FPDFText_GetCharBox
    boxes = []
    for i in range(count):
        box(raw, i, left, right, bottom, top)
        boxes.append((left.value, bottom.value, right.value, top.value))
    codes = _codes(text, count)
    for i in [i for i, code in enumerate(codes) if code == HYPHEN] if HYPHEN in codes else []:
        if pdfium_c.FPDFText_IsHyphen(raw, i) != 1:
            codes[i] = 0  # a glyph of a font that maps its codes to no characters
    for i in range(count - 1) if max(codes, default=0) >= 0xD800 else ():  # join surrogate pairs
        if 0xD800 <= codes[i] < 0xDC00 and 0xDC00 <= codes[i + 1] < 0xE000:
            codes[i] = 0x10000 + (codes[i] - 0xD800 << 10) + codes[i + 1] - 0xDC00
    return codes, boxes


def _codes(text: pdfium.PdfTextPage, count: int) -> list[int]:
    """Return the code points of a page's characters: all at once if each has one, which is ten times as fast."""
    buffer = (ctypes.c_ushort * (count + 1))()
    if count and pdfium_c.FPDFText_GetText(text.raw, 0, count, buffer) == count + 1:
        return [HYPHEN if code == _HYPHEN_OF_TEXT else code for code in buffer[:count]]
    return [pdfium_c.FPDFText_GetUnicode(text.raw, i) for i in range(count)]


@dataclass(frozen=True, slots=True)
class Shown:
    """How a page is displayed: its rotation, its lower left corner in the file, and its displayed size."""

    rotation: int
    left: float
    bottom: float
    width: float
    height: float

    @classmethod
    def of(cls, page: pdfium.PdfPage) -> Shown:
        left, bottom, *_ = page.get_bbox()
        return cls(page.get_rotation(), left, bottom, *page.get_size())

    @property
    def is_moved(self) -> bool:
        """Return whether boxes of the file have other positions on the displayed page."""
        return bool(self.rotation or self.left or self.bottom)

    def intersects(self, left: float, bottom: float, right: float, top: float) -> bool:
        """Return whether a box is at least partly on the page."""
        return right >= 0 and top >= 0 and left <= self.width and bottom <= self.height

    def turn(self, box: Box) -> Box:
        """Move a box of the file to its position on the displayed page."""
        left, bottom, right, top = box[0] - self.left, box[1] - self.bottom, box[2] - self.left, box[3] - self.bottom
        if self.rotation == 0:
            return left, bottom, right, top
        if self.rotation == 90:
            return bottom, self.height - right, top, self.height - left
        if self.rotation == 180:
            return self.width - right, self.height - top, self.width - left, self.height - bottom
        return self.width - top, left, self.width - bottom, right


def font_size(text: pdfium.PdfTextPage, char: int) -> float:
    """Return a character's font size in points."""
    matrix = pdfium_c.FS_MATRIX()
    pdfium_c.FPDFText_GetMatrix(text.raw, char, matrix)
    return float(pdfium_c.FPDFText_GetFontSize(text.raw, char)) * math.hypot(matrix.c, matrix.d)
