"""The horizontal rules of a PDF's page, which begin, divide and end tables."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from oreqa.corpus.formats.pdf.characters import Shown

_MOST_OBJECTS = 20_000
"""Most objects of a page that are examined."""
_THIN = 2.5
"""Greatest height of a rule, in points."""
_SHORTEST = 12.0
_TOUCH = 2.0
"""Pieces of one rule are at most this far apart, and their heights differ by at most half of it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line, in points of the page as displayed."""

    left: float
    right: float
    height: float


def read_rules(page: pdfium.PdfPage) -> list[Rule]:
    """Return a page's horizontal rules, from the top down, joining pieces such as those of a grid's cells."""
    shown = Shown.of(page)
    bounds = [ctypes.c_float() for _ in range(4)]
    pieces: list[Rule] = []
    for at in range(min(pdfium_c.FPDFPage_CountObjects(page), _MOST_OBJECTS)):
        item = pdfium_c.FPDFPage_GetObject(page, at)
        if pdfium_c.FPDFPageObj_GetType(item) != pdfium_c.FPDF_PAGEOBJ_PATH:
            continue
        if not pdfium_c.FPDFPageObj_GetBounds(item, *bounds):
            continue
        a, b, c, d = (bound.value for bound in bounds)
        left, bottom, right, top = shown.turn((a, b, c, d))
        if top - bottom <= _THIN and right - left >= _SHORTEST:
            pieces.append(Rule(left, right, (top + bottom) / 2))
        elif right - left > _SHORTEST and _is_drawn(item):  # a box, as around a cell
            pieces += [Rule(left, right, top), Rule(left, right, bottom)]
    return _join(pieces)


def _is_drawn(path: pdfium_c.FPDF_PAGEOBJECT) -> bool:
    """Return whether a path's outline is drawn; the edges of others, such as coloured backgrounds, are not rules."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    return bool(pdfium_c.FPDFPath_GetDrawMode(path, fill, stroke)) and bool(stroke.value)


def _join(pieces: Sequence[Rule]) -> list[Rule]:
    rules: list[Rule] = []
    row: list[Rule] = []
    for piece in [*sorted(pieces, key=lambda rule: -rule.height), None]:
        if piece is not None and row and row[0].height - piece.height <= _TOUCH / 2:
            row.append(piece)
            continue
        for part in sorted(row, key=lambda rule: rule.left):
            last = rules[-1] if rules else None
            if last and abs(last.height - part.height) <= _TOUCH / 2 and part.left <= last.right + _TOUCH:
                rules[-1] = Rule(last.left, max(last.right, part.right), last.height)
            else:
                rules.append(part)
        row = [piece] if piece is not None else []
    return rules
