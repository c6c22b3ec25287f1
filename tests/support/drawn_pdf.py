"""PDFs drawn for tests: lines of text, one below the other, and whatever else a test draws."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from oreqa.core import Document
from oreqa.corpus.formats.pdf.document import read_pdf

Draw = Callable[[Canvas, int], None]
"""Draws on a page, given its index."""


def pdf(pages: list[str], password: str = "", title: str = "", draw: Draw | None = None) -> bytes:
    """A page for each text, its lines 14 points apart from the top down."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, encrypt=StandardEncryption(password, canPrint=0) if password else None)
    canvas.setTitle(title)
    for number, page in enumerate(pages):
        if draw:
            canvas.saveState()
            draw(canvas, number)
            canvas.restoreState()
        for line, content in enumerate(page.split("\n")):
            canvas.drawString(72, 720 - 14 * line, content)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def read(pages: list[str], title: str = "", draw: Draw | None = None) -> Document:
    return read_pdf(pdf(pages, title=title, draw=draw), Path("folder/some_file.pdf"))
