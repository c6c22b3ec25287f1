"""Raised digits in the lines of a PDF: powers and footnote marks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pypdfium2 as pdfium

from oreqa.corpus.formats.pdf.characters import Box, font_size
from oreqa.corpus.formats.raised import raised

SMALLER = 0.9
"""Letters smaller than this share of the font size are an index, an exponent or a footnote mark."""
HIGHER = 0.15
"""Digits this much above the baseline, as a share of the font size, are raised."""
_DIGIT = re.compile(r"(?<=\S)\d")
_NUMBER = re.compile(r"\d{1,2}(?=[^\d.,:)\-])")
_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISE = str.maketrans("0123456789", _DIGITS)
_LOWER = str.maketrans(_DIGITS, "0123456789")
_NOTE = re.compile(rf"([{_DIGITS}]{{1,2}}) \S")
_MARK = re.compile(rf"(?<=\S)([{_DIGITS}]+)(?: (?=[.,;:)]))?")


def raise_digits(digits: str) -> str:
    """Convert digits to superscript digits."""
    return digits.translate(_RAISE)


def find_raised(
    text: pdfium.PdfTextPage, boxes: Sequence[Box], line: str, places: list[int], size: float, base: float
) -> tuple[str, list[int]]:
    """Convert small, raised digits of a line to superscript digits: ``2⁶⁴``, not 264.

    ``places`` are PDFium's indexes of the characters, ``size`` and ``base`` the line's font size and baseline. A raised
    number at the start of the line, a footnote's, gets a space after it.
    """
    pieces, end = [], 0
    for match in _DIGIT.finditer(line):
        at = match.start()
        if boxes[places[at]][1] > base + HIGHER * size and font_size(text, places[at]) < SMALLER * size:
            pieces += [line[end:at], raise_digits(line[at])]
            end = at + 1
    if end:
        line = "".join(pieces) + line[end:]
    number = _NUMBER.match(line)
    if number is None:
        return line, places
    after = number.end() + (line[number.end()] == " ")
    if boxes[places[0]][1] < boxes[places[after]][1] + HIGHER * size:
        return line, places
    if font_size(text, places[0]) > SMALLER * font_size(text, places[after]):
        return line, places
    return f"{raise_digits(number[0])} {line[after:]}", [*places[: number.end()], places[0], *places[after:]]


def raised_notes(lines: Sequence[str]) -> frozenset[str]:
    """Return the numbers of a page's footnotes, raised at line starts."""
    return frozenset(match[1].translate(_LOWER) for line in lines if (match := _NOTE.match(line)))


def without_marks(line: str, places: list[int], notes: frozenset[str]) -> tuple[str, list[int]]:
    """Return a line and the places of its characters without the marks of the page's ``notes``."""
    pieces, kept, end = [], [], 0
    for match in _MARK.finditer(line):
        if not raised(match[1].translate(_LOWER), line[: match.start()], notes):
            pieces.append(line[end : match.start()])
            kept += places[end : match.start()]
            end = match.end()
    return "".join(pieces) + line[end:], kept + places[end:]
