"""The child process that opens PDFs for the server: it finds the rectangles of a text, and draws pages.

A request is two messages: JSON with the file, its size and modification time and the task, and the layout. So is a reply:
JSON with the rectangles or the error, and the picture.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from oreqa.corpus import limits
from oreqa.corpus.child import begin_child, limit_time, peak_memory, receive, send
from oreqa.corpus.formats.pdf.boxes import find_boxes
from oreqa.corpus.formats.pdf.document import open_pdf
from oreqa.corpus.opening import open_unchanged
from oreqa.errors import DocumentError, describe

_TALLEST = 4
"""The highest picture, as a multiple of the requested width."""
_QUALITY, _EFFORT = 80, 0
"""WebP settings: quality from 0 to 100, effort from 0 to 6."""


def answer_requests(parent: int, memory: int) -> None:
    """Answer requests until the process ``parent`` exits or closes the stream, each within ``limits.DRAW_SECONDS``."""
    requests, replies = begin_child(parent, memory)
    last = False
    while not last:
        request, layout = receive(requests), receive(requests)
        if request is None or layout is None:
            return
        limit_time(limits.DRAW_SECONDS)
        reply, picture = _answer(json.loads(request), layout, memory)
        last = "memory" in reply or peak_memory() > memory // 4  # it may not all be freed
        send(replies, json.dumps({**reply, "last": last}).encode())
        send(replies, picture)


def _answer(request: Mapping[str, Any], layout: bytes, memory: int) -> tuple[dict[str, Any], bytes]:
    try:
        file = open_unchanged(Path(request["path"]), request["size"], request["time"])
    except OSError:
        return {"gone": True}, b""
    if file is None:
        return {"changed": True}, b""
    try:
        with file:
            if "width" in request:
                return {}, draw_page(file, request["page"], request["width"])
            boxes = [asdict(box) for start, text in request["texts"] for box in find_boxes(file, layout, start, text)]
            return {"boxes": boxes, **_sizes(file, sorted({box["page"] for box in boxes}))}, b""
    except MemoryError:
        return {"memory": True}, b""
    except Exception as error:  # libraries raise anything, and not always MemoryError when memory runs out
        if peak_memory() > memory // 2:
            return {"memory": True}, b""
        return {"error": str(error) if isinstance(error, DocumentError) else f"it is damaged ({describe(error)})"}, b""


def _sizes(file: IO[bytes], numbers: Sequence[int]) -> dict[str, Any]:
    """Return the displayed sizes of pages, from 1, in points, and the number of pages."""
    pdf = open_pdf(file)
    try:
        sizes = [(number, *pdf.get_page_size(number - 1)) for number in numbers]
        return {
            "pages": [{"page": page, "width": across, "height": down} for page, across, down in sizes],
            "count": len(pdf),
        }
    finally:
        pdf.close()


def draw_page(file: IO[bytes], number: int, width: int) -> bytes:
    """Draw a page, from 1, as WebP of ``width`` pixels, fewer if it is very tall."""
    pdf = open_pdf(file)
    try:
        if not 1 <= number <= len(pdf):
            raise DocumentError(f"it has no page {number:,}, but {len(pdf):,}")
        page = pdf[number - 1]
        across, down = page.get_size()
        picture = page.render(scale=min(width / across, _TALLEST * width / down)).to_pil().convert("RGB")
    finally:
        pdf.close()
    packed = io.BytesIO()
    picture.save(packed, "WEBP", quality=_QUALITY, method=_EFFORT)
    return packed.getvalue()
