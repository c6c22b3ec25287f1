"""Pages drawn, and rectangles found, by the child process: whatever happens in it is that request's error."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from drawn_pdf import pdf
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from oreqa.corpus import limits
from oreqa.corpus.readers import Fields, read_documents
from oreqa.index.revisions import file_revision

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.server import drawing
from oreqa.server.drawing import Drawer
from oreqa.server.problems import RefusedError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(["Owls hoot.", "Bees hum."]))
    return path


def refused(status: int, reason: str) -> object:
    return pytest.raises(RefusedError, check=lambda error: error.status == status and reason in error.detail)


def test_a_picture_and_boxes_of_a_page(drawer: Drawer, file: Path) -> None:
    revision = file_revision(file, Fields())
    picture = Image.open(io.BytesIO(drawer.picture(file, revision, 2, 800)))
    assert (picture.format, picture.size) == ("WEBP", (800, 1132))
    (document,) = read_documents(file)
    marked = drawer.boxes(file, revision, document.layout, [(0, "Owls"), (12, "Bees hum.")])
    owls, bees = marked.boxes
    assert (marked.pages[1].page, marked.page_count) == (2, 2)
    assert (marked.pages[1].width, marked.pages[1].height) == pytest.approx((595.3, 841.9), abs=0.1)
    assert (owls.page, bees.page) == (1, 2)
    ink = np.asarray(picture.convert("L")) < 128
    (rows, columns), (height, width) = np.nonzero(ink), ink.shape
    assert (bees.left, bees.right) == pytest.approx((columns.min() / width, columns.max() / width), abs=0.005)
    assert (bees.top, bees.bottom) == pytest.approx((rows.min() / height, rows.max() / height), abs=0.005)


def test_a_very_tall_page_is_drawn_smaller(drawer: Drawer, file: Path) -> None:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(20, 14_000))
    canvas.drawString(1, 13_000, "Owls")
    canvas.save()
    file.write_bytes(buffer.getvalue())
    assert Image.open(io.BytesIO(drawer.picture(file, file_revision(file, Fields()), 1, 800))).height <= 3201


def test_what_is_not_there(drawer: Drawer, file: Path) -> None:
    revision = file_revision(file, Fields())
    (document,) = read_documents(file)
    for page in (0, 3, 10**9):
        with refused(404, "it has no page"):  # type: ignore[attr-defined]
            drawer.picture(file, revision, page, 800)
    with refused(409, "other text stands on page 1"):  # type: ignore[attr-defined]
        drawer.boxes(file, revision, document.layout, [(0, "Cats")])
    file.write_bytes(b"%PDF-1.4 broken")
    with refused(409, "was changed after it was indexed"):  # type: ignore[attr-defined]
        drawer.picture(file, revision, 1, 800)
    with refused(409, "is not a readable PDF"):  # type: ignore[attr-defined]
        drawer.picture(file, file_revision(file, Fields()), 1, 800)
    file.unlink()
    with refused(409, "the file is gone, or"):  # type: ignore[attr-defined]
        drawer.picture(file, revision, 1, 800)


@pytest.mark.parametrize("code", ["import os; os.abort()", "bytearray(4 << 30)", "while True: pass"])
def test_a_request_that_goes_wrong_leaves_the_next_alone(
    drawer: Drawer, file: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    revision = file_revision(file, Fields())
    patch = "from oreqa.corpus import limits; limits.DRAW_SECONDS = 1; from oreqa.server import drawer; "
    patch += f"drawer.draw_page = lambda *_: exec({code!r}); answer_requests("
    with monkeypatch.context() as patched:
        patched.setattr(drawing, "_ANSWER", drawing._ANSWER.replace("answer_requests(", patch, 1))
        patched.setattr(drawing, "CLOCK_FACTOR", 1000)  # the CPU limit ends it, not the timer
        with refused(503, "memory" if "bytearray" in code else "crashed on it, or took too long"):  # type: ignore[attr-defined]
            drawer.picture(file, revision, 1, 800)
    assert drawer.picture(file, revision, 1, 800)


def test_one_child_for_request_after_request(drawer: Drawer, file: Path) -> None:
    revision = file_revision(file, Fields())
    drawer.picture(file, revision, 1, 800)
    child = drawer._child
    drawer.picture(file, revision, 1, 800)
    assert child is not None
    assert drawer._child is child
    drawer.close()
    assert child.poll() is not None


def test_it_waits_for_others_only_so_long(drawer: Drawer, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "_WAIT", 0.01)
    revision = file_revision(file, Fields())
    with drawer._lock, refused(503, "too many pages"):  # type: ignore[attr-defined]
        drawer.picture(file, revision, 1, 800)
    assert drawer.picture(file, revision, 1, 800)
    for _ in range(drawing._MOST_WAITING):
        drawer._waiting.acquire()
    with refused(503, "too many pages"):  # type: ignore[attr-defined]
        drawer.picture(file, revision, 1, 800)
    assert limits.DRAW_SECONDS == 10
