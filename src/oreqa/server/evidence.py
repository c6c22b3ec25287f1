"""Shows what proves an answer in place: its rectangles on a PDF's pages, and the pages."""

from __future__ import annotations

from pathlib import Path

from oreqa.index.documents import stored_layout
from oreqa.index.revisions import IN_MEMORY
from oreqa.server.catalog import CatalogDocument, open_original
from oreqa.server.drawing import WIDTHS, Drawer, TextBoxes
from oreqa.server.problems import RefusedError

MOST_BOXED = 20_000
"""The most characters whose rectangles are found at once."""


def is_drawable(document: CatalogDocument) -> bool:
    """Return whether a document is a PDF with a file of its own, so that its pages can be shown."""
    return not _why_not(document)


def document_boxes(document: CatalogDocument, drawer: Drawer, start: int, end: int) -> TextBoxes:
    """Return the rectangles of the characters ``start`` to ``end`` of a document on its pages, one per line.

    Text without a position of its own, such as that of scanned pages, has no rectangles. Raises RefusedError: 400 for an
    empty or too long range, 404 for a document without pages, 409 for a file that has changed or is gone, or like
    ``Drawer.boxes``.
    """
    revision = _drawable(document)
    if not 0 <= start < end or end - start > MOST_BOXED:
        raise RefusedError(400, f"end must be after start, by at most {MOST_BOXED:,} characters")
    with document.snapshot.reading():
        layout = stored_layout(document.snapshot.select, document.number)
        overlapping = "start < ? AND start + length(text) > ?"
        query = f"SELECT start, text FROM passages WHERE document = ? AND {overlapping} ORDER BY start"
        rows = document.snapshot.select(query, (document.number, end, start))
    texts = [(max(first, start), text[max(0, start - first) : end - first]) for first, text in rows]
    return drawer.boxes(Path(document.source), revision, layout, texts if layout else [])


def page_picture(document: CatalogDocument, drawer: Drawer, page: int, width: int) -> bytes:
    """Draw a page, from 1, of a PDF as WebP of one of WIDTHS.

    Raises RefusedError: 400 for another width, 404 for a document without pages, 409 for a file that has changed or is gone,
    or like ``Drawer.picture``.
    """
    revision = _drawable(document)
    if width not in WIDTHS:
        raise RefusedError(400, f"width must be one of {', '.join(map(str, WIDTHS))}")
    return drawer.picture(Path(document.source), revision, page, width)


def _drawable(document: CatalogDocument) -> str:
    """Return the revision of a document whose pages can be shown. Raises RefusedError, a 404 or 409, for others."""
    if reason := _why_not(document):
        raise RefusedError(404, reason)
    open_original(document).close()  # the child checks again, but need not start for a changed file
    return document.revision or ""


def _why_not(document: CatalogDocument) -> str:
    if document.key != document.source or not document.source.lower().endswith(".pdf"):
        return "this document is no PDF file, and has no pages to show"
    if document.gone or document.revision in (None, IN_MEMORY):
        return "this document has no file that was known when it was indexed; index it once more"
    return ""
