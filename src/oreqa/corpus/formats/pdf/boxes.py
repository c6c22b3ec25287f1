"""Find the boxes on a PDF's pages that a range of its text occupies."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from oreqa.corpus.formats.pdf.document import open_pdf, trace_pdf
from oreqa.corpus.formats.pdf.lines import page_lines


@dataclass(frozen=True, slots=True)
class TextBox:
    """A rectangle of text on a page, from 1, in points from the page's lower left corner."""

    page: int
    left: float
    bottom: float
    right: float
    top: float


def find_boxes(path: Path, start: int, end: int) -> list[TextBox]:
    """Return the boxes, one per line, of the characters ``start`` to ``end`` of the text extracted from a PDF.

    Reads the file again, which must not have changed since. Raises DocumentError if it cannot be read.
    """
    data = path.read_bytes()
    _, stretches = trace_pdf(data, path)
    first = max(0, bisect_right(stretches, start, key=lambda stretch: stretch.start) - 1)
    wanted = []
    for stretch in stretches[first:]:
        if stretch.start >= end:
            break
        a, b = max(start - stretch.start, 0), min(end - stretch.start, stretch.length)
        if a < b:
            wanted.append((stretch.page, stretch.line, stretch.first + a, stretch.first + b))
    boxes = []
    pdf = open_pdf(data)
    try:
        for number, rows in groupby(wanted, key=lambda row: row[0]):
            page = pdf[number]
            text = page.get_textpage()
            lines = [(line.text, places) for line, places in page_lines(page, text, number)]
            for _, line, a, b in rows:
                content, places = lines[line]
                chars = [text.get_charbox(i) for i, char in zip(places[a:b], content[a:b], strict=True) if char != " "]
                if chars:
                    left, bottom, right, top = zip(*chars, strict=True)
                    boxes.append(TextBox(number + 1, min(left), min(bottom), max(right), max(top)))
            text.close()
            page.close()
    finally:
        pdf.close()
    return boxes
