"""Pages of PDFs and rectangles on them over HTTP."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from drawn_pdf import pdf
from PIL import Image
from reportlab.pdfgen.canvas import Canvas
from served import served

from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.server import drawing
from oreqa.server.collections import ServedCollection, close_collections, open_collections
from oreqa.server.settings import Access

SIDE, CROP = 700, (40, 60, 560, 640)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PDFs whose pages are turned and cropped, and a text."""
    folder = tmp_path_factory.mktemp("pages")
    for turn in (0, 90, 180, 270):
        texts = ["Owls hoot at night.", f"Bees hum by day, {turn} of them."]

        def draw(canvas: Canvas, number: int, turn: int = turn, texts: list[str] = texts) -> None:
            canvas.setPageSize((SIDE, SIDE))
            canvas.translate(*{0: (0, 0), 90: (SIDE, 0), 180: (SIDE, SIDE), 270: (0, SIDE)}[turn])
            canvas.rotate(turn)
            canvas.drawString(100, 300, texts[number])
            canvas.setPageRotation(turn)
            canvas.setCropBox(CROP)

        (folder / f"{turn}.pdf").write_bytes(pdf(["", ""], draw=draw))
    (folder / "b.txt").write_text("Cats purr.")
    for file in folder.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture(scope="module")
def shown(
    files: Path, fitted: Path, fitted_reader: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, ServedCollection]]:
    index = tmp_path_factory.mktemp("indexes") / "kb"
    index_files(index, files, Settings(str(fitted)))
    opened = open_collections({"kb": index}, reader=fitted_reader)
    yield opened
    close_collections(opened)


@pytest.fixture(scope="module")
def reader(shown: dict[str, ServedCollection]) -> Iterator[httpx.Client]:
    with served(shown) as client:
        yield client


def place(client: httpx.Client, name: str) -> str:
    rows = client.get("/v1/documents").json()["documents"]
    return next(f"/v1/documents/{row['id']}" for row in rows if row["document"].endswith(name))


def stretch(client: httpx.Client, at: str, words: str) -> dict[str, int]:
    """The characters of words that stand once in a document."""
    for passage in client.get(f"{at}/text").json()["passages"]:
        if words in passage["text"]:
            start = passage["start"] + passage["text"].index(words)
            return {"start": start, "end": start + len(words)}
    raise AssertionError(words)


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_rectangles_lie_on_the_ink_of_turned_and_cropped_pages(reader: httpx.Client, turn: int) -> None:
    at = place(reader, f"/{turn}.pdf")
    row = reader.get(at).json()
    assert (row["drawable"], row["source"], row["reason"]) == (True, "same", None)
    marked = reader.get(f"{at}/boxes", params=stretch(reader, at, f"Bees hum by day, {turn} of them.")).json()
    (box,), (page,) = marked["boxes"], marked["pages"]
    assert (box["page"], page["page"], marked["page_count"]) == (2, 2, 2)
    size = (CROP[2] - CROP[0], CROP[3] - CROP[1])
    assert (page["width"], page["height"]) == pytest.approx(size if turn % 180 == 0 else size[::-1])
    response = reader.get(f"{at}/pages/2", params={"width": 1200})
    assert response.headers["content-type"] == "image/webp"
    picture = Image.open(io.BytesIO(response.content))
    assert picture.width / picture.height == pytest.approx(page["width"] / page["height"], rel=0.01)
    ink = np.asarray(picture.convert("L")) < 128
    (rows, columns), (height, width) = np.nonzero(ink), ink.shape
    assert (box["left"], box["right"]) == pytest.approx((columns.min() / width, columns.max() / width), abs=0.01)
    assert (box["top"], box["bottom"]) == pytest.approx((rows.min() / height, rows.max() / height), abs=0.01)


def test_the_width_that_is_omitted_is_the_smallest(reader: httpx.Client) -> None:
    response = reader.get(f"{place(reader, '/0.pdf')}/pages/1")
    assert Image.open(io.BytesIO(response.content)).width == 800


@pytest.mark.parametrize(
    ("tail", "status", "reason"),
    [
        ("pages/1?width=801", 400, "800, 1200, 1600"),
        ("pages/3", 404, "it has no page 3, but 2"),
        ("pages/0", 422, "number"),
        ("pages/1.5", 422, "number"),
        ("pages/99999999999999999999", 422, "number"),
        ("boxes?start=3", 422, "end"),
        ("boxes?start=3&end=3", 400, "end must be after start"),
        ("boxes?start=0&end=20001", 400, "20,000"),
        ("boxes?start=0&end=1&collection=other", 404, "collection"),
    ],
)
def test_what_is_not_there_is_refused(reader: httpx.Client, tail: str, status: int, reason: str) -> None:
    response = reader.get(f"{place(reader, '/0.pdf')}/{tail}")
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert reason in response.json()["detail"]


def test_a_text_has_no_pages(reader: httpx.Client) -> None:
    at = place(reader, "/b.txt")
    row = reader.get(at).json()
    assert (row["drawable"], row["source"], row["reason"]) == (False, "same", None)
    for tail in ("boxes?start=0&end=4", "pages/1"):
        response = reader.get(f"{at}/{tail}")
        assert (response.status_code, response.json()["detail"]) == (
            404,
            "this document is no PDF file, and has no pages to show",
        )


def test_a_file_that_was_changed_or_is_gone_is_named(reader: httpx.Client, files: Path) -> None:
    file, at = files / "180.pdf", place(reader, "/180.pdf")
    before = file.read_bytes()
    try:
        for state in ("changed", "gone"):
            file.unlink() if state == "gone" else file.write_bytes(before + b" ")
            row = reader.get(at).json()
            assert (row["source"], row["drawable"]) == (state, False)
            assert state in row["reason"]
            for tail in ("boxes?start=0&end=4", "pages/1"):
                response = reader.get(f"{at}/{tail}")
                assert (response.status_code, response.json()["detail"]) == (409, row["reason"])
    finally:
        file.write_bytes(before)
        os.utime(file, (1_700_000_000, 1_700_000_000))
    assert reader.get(f"{at}/pages/1").status_code == 200


def test_a_crash_of_the_child_is_a_503_of_that_request_alone(
    shown: dict[str, ServedCollection], monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = "from oreqa.server import drawer; drawer.draw_page = lambda *_: __import__('os').abort(); answer_requests("
    with monkeypatch.context() as patched:
        patched.setattr(drawing, "_ANSWER", drawing._ANSWER.replace("answer_requests(", crash, 1))
        with served(shown) as client:
            at = place(client, "/0.pdf")
            response = client.get(f"{at}/pages/1")
            assert (response.status_code, response.headers["content-type"]) == (503, "application/problem+json")
            assert "crashed" in response.json()["detail"]
            patched.undo()
            assert client.get(f"{at}/pages/1").status_code == 200


def test_pages_count_for_each_client(shown: dict[str, ServedCollection]) -> None:
    with served(shown, Access(frozenset(), rate=2)) as client:
        at = place(client, "/0.pdf")
        addresses = [f"{at}/pages/1", f"{at}/boxes?start=0&end=4", f"{at}/pages/1", f"{at}/boxes?start=0&end=4"]
        responses = [client.get(each) for each in addresses]
        assert [response.status_code for response in responses] == [200, 200, 429, 429]
        assert responses[-1].headers["retry-after"]
        assert client.get(at).status_code == 200


def test_the_child_ends_with_the_server(shown: dict[str, ServedCollection], monkeypatch: pytest.MonkeyPatch) -> None:
    drawers: list[drawing.Drawer] = []
    monkeypatch.setattr("oreqa.server.app.Drawer", lambda: drawers.append(drawing.Drawer()) or drawers[0])
    with served(shown) as client:
        assert client.get(f"{place(client, '/0.pdf')}/pages/1").status_code == 200
        child = drawers[0]._child
        assert child is not None
    assert child.poll() is not None
