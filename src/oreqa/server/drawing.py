"""Draws pages of PDFs and finds the rectangles of texts on them in a child process (drawer.py), which is killed and
replaced when a file exceeds its limits."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.corpus import limits
from oreqa.corpus.child import CLOCK_FACTOR, receive, send, start_child, stop_child
from oreqa.corpus.formats.pdf.boxes import TextBox
from oreqa.index.revisions import size_and_time
from oreqa.server.catalog import CHANGED, GONE
from oreqa.server.problems import RefusedError, busy

WIDTHS = (800, 1200, 1600)
"""Widths of pictures, in pixels."""

_WAIT, _MOST_WAITING = 30, 8
"""Seconds that a request waits for those before it, and the most requests drawn or waiting at once."""
_ANSWER = "from oreqa.server.drawer import answer_requests; answer_requests(*map(int, sys.argv[2:]))"


@dataclass(frozen=True, slots=True)
class PageSize:
    """A page, counted from 1, with its displayed width and height in points."""

    page: int
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class TextBoxes:
    """The rectangles of a text, the sizes of their pages, and the file's number of pages."""

    boxes: Sequence[TextBox]
    pages: Sequence[PageSize]
    page_count: int


class Drawer:
    """Owns the child process, which starts with the first request. One request runs at a time."""

    def __init__(self) -> None:
        self._lock, self._waiting = threading.Lock(), threading.BoundedSemaphore(_MOST_WAITING)
        self._child: subprocess.Popen[bytes] | None = None

    def picture(self, path: Path, revision: str, page: int, width: int) -> bytes:
        """Draw page ``page``, from 1, of the PDF indexed with this ``revision`` as WebP of one of WIDTHS.

        Raises RefusedError: 404 for a missing page, 409 if the file has changed, 503 if it cannot be drawn or too many
        requests are waiting.
        """
        _, picture = self._request({**_file(path, revision), "page": page, "width": width}, b"")
        return picture

    def boxes(self, path: Path, revision: str, layout: bytes, texts: Sequence[tuple[int, str]]) -> TextBoxes:
        """Return the rectangles of texts, each given with its start in the document, like ``find_boxes``.

        Raises RefusedError like ``picture``, and a 409 if the text there is not the indexed one.
        """
        reply, _ = self._request({**_file(path, revision), "texts": list(texts)}, layout)
        boxes, pages = [TextBox(**row) for row in reply["boxes"]], [PageSize(**row) for row in reply["pages"]]
        return TextBoxes(boxes, pages, reply["count"])

    def close(self) -> None:
        """End the child process. The next request starts another one."""
        with self._lock:
            self._stop()

    def _request(self, request: dict[str, Any], layout: bytes) -> tuple[dict[str, Any], bytes]:
        if not self._waiting.acquire(blocking=False):
            raise _too_many()
        try:
            reply, picture = self._ask_in_turn(json.dumps(request).encode(), layout)
        finally:
            self._waiting.release()
        if "gone" in reply:
            raise RefusedError(409, GONE)
        if "changed" in reply:
            raise RefusedError(409, CHANGED)
        if "memory" in reply:
            raise RefusedError(503, f"drawing it takes more than {limits.PARSE_BYTES >> 20} MB of memory")
        if "error" in reply:
            raise RefusedError(404 if reply["error"].startswith("it has no page") else 409, reply["error"])
        return reply, picture

    def _ask_in_turn(self, request: bytes, layout: bytes) -> tuple[dict[str, Any], bytes]:
        if not self._lock.acquire(timeout=_WAIT):
            raise _too_many()
        try:
            reply, picture = self._ask(request, layout)
            if reply["last"]:
                self._stop()
        finally:
            self._lock.release()
        return reply, picture

    def _ask(self, request: bytes, layout: bytes) -> tuple[dict[str, Any], bytes]:
        if self._child is None:
            try:
                self._child = start_child(_ANSWER, limits.PARSE_BYTES)
            except OSError as error:
                raise busy(f"the process that draws cannot be started ({error.strerror})") from error
        child, reply, picture = self._child, None, None
        assert child.stdin
        assert child.stdout
        timer = threading.Timer(CLOCK_FACTOR * limits.DRAW_SECONDS, child.kill)
        timer.daemon = True
        timer.start()
        try:
            with contextlib.suppress(OSError):  # a broken pipe: the child is gone
                send(child.stdin, request)
                send(child.stdin, layout)
                reply, picture = receive(child.stdout), receive(child.stdout)
        except BaseException:
            self._stop()  # a late reply would be taken for that of the next request
            raise
        finally:
            timer.cancel()
            timer.join()
        if reply is None or picture is None:
            self._stop(patience=1)
            raise RefusedError(503, "the process that draws crashed on it, or took too long; the text is what there is")
        return json.loads(reply), picture

    def _stop(self, patience: float = 0) -> None:
        if self._child is not None:
            stop_child(self._child, patience)
            self._child = None


def _too_many() -> RefusedError:
    return busy("too many pages are being drawn; try again")


def _file(path: Path, revision: str) -> dict[str, Any]:
    size, changed = size_and_time(revision)
    return {"path": str(path), "size": size, "time": changed}
