"""Finds the rectangles of a text range on a PDF's pages."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import IO

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from oreqa.corpus.formats.pdf.characters import Box
from oreqa.corpus.formats.pdf.document import UNREADABLE_PDF, open_pdf
from oreqa.corpus.formats.pdf.layout import stretches_between
from oreqa.corpus.formats.pdf.lines import page_lines
from oreqa.corpus.formats.pdf.stretches import Stretch
from oreqa.errors import DocumentError

_GRID = 1_000_000
"""PDFium returns whole pixels: the page is this many of them wide and high."""


@dataclass(frozen=True, slots=True)
class TextBox:
    """A rectangle on a page, counted from 1, as fractions of the displayed page, from its upper left corner."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


def find_boxes(path: Path | IO[bytes], layout: bytes, start: int, text: str) -> list[TextBox]:
    """Return the rectangles, one per line, of ``text``, which starts at the character ``start`` of a PDF's document.

    Only its pages are read, according to the document's ``layout``. Text without a position of its own has no rectangles:
    scanned pages, and column names repeated in table rows. Raises DocumentError if the file or the layout cannot be read, or
    if the text there differs.
    """
    stretches = stretches_between(layout, start, start + len(text))
    if not stretches:
        return []
    boxes = []
    try:
        pdf = open_pdf(path)
        try:
            for number, group in groupby(stretches, key=lambda stretch: stretch.page):
                page_stretches = [(stretch, text[stretch.start - start :][: stretch.length]) for stretch in group]
                boxes += _boxes_of_page(pdf, number, page_stretches)
        finally:
            pdf.close()
    except pdfium.PdfiumError as error:
        raise DocumentError(UNREADABLE_PDF) from error
    return boxes


def _boxes_of_page(pdf: pdfium.PdfDocument, number: int, stretches: Sequence[tuple[Stretch, str]]) -> list[TextBox]:
    if number >= len(pdf):
        raise DocumentError(f"it has {len(pdf):,} pages, and the text stood on page {number + 1:,}: index it again")
    page = pdf[number]
    text = page.get_textpage()
    lines = page_lines(page, text, number)
    boxes = []
    for place, group in groupby(stretches, key=lambda row: row[0].line):
        letters: list[int] = []
        for stretch, content in group:
            line, places = lines[place] if place < len(lines) else (None, [])
            if line is None or line.text[stretch.first : stretch.first + stretch.length] != content:
                raise DocumentError(f"other text stands on page {number + 1:,} than was indexed: index it again")
            chosen = places[stretch.first : stretch.first + stretch.length]
            letters += (at for at, char in zip(chosen, content, strict=True) if char != " ")
        if letters:
            boxes.append(_rectangle(page, [text.get_charbox(at) for at in letters]))
    text.close()
    page.close()
    return [TextBox(number + 1, *box) for box in boxes]


def _rectangle(page: pdfium.PdfPage, boxes: Sequence[Box]) -> Box:
    """Return the rectangle around boxes of the file as left, top, right and bottom of the displayed page."""
    left, bottom, right, top = zip(*boxes, strict=True)
    corners = [_shown(page, min(left), min(bottom)), _shown(page, max(right), max(top))]
    (x0, x1), (y0, y1) = (sorted(min(1.0, max(0.0, at)) for at in side) for side in zip(*corners, strict=True))
    return x0, y0, x1, y1


def _shown(page: pdfium.PdfPage, x: float, y: float) -> tuple[float, float]:
    """Return where a point of the file is on the displayed page: rotated, and cropped."""
    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDF_PageToDevice(page.raw, 0, 0, _GRID, _GRID, 0, x, y, across, down)
    return across.value / _GRID, down.value / _GRID
