"""Scanned pages and pictures. The text is drawn, turned into pixels, and read again."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from oreqa.corpus import limits
from oreqa.corpus.formats.pdf import ocr
from oreqa.corpus.formats.pdf.document import read_pdf
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError

PAGES = (
    ("Opening hours", "The museum opens at nine and closes at half past five.", "On Mondays it stays closed all day long."),
    ("Tickets", "A ticket for one adult costs twelve euros.", "Children below six years of age pay nothing."),
)

LONG = (
    "Most of what visitors see of the Great Wall was built under the Ming",
    "dynasty, between the fourteenth and the seventeenth century. A survey",
    "put the length of all walls of all dynasties at 21196 kilometres.",
)


def picture(lines: tuple[str, ...]) -> Image.Image:
    """A page of A5 at 150 dots an inch, slightly turned."""
    page = Image.new("L", (1240, 874), 255)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(30)
    for number, line in enumerate(lines):
        draw.text((120, 120 + 45 * number + 30 * (number > 0)), line, font=font, fill=0)
    return page.rotate(0.4, fillcolor=255)


def packed(kind: str, *pages: tuple[str, ...]) -> bytes:
    first, *others = (picture(page) for page in pages)
    data = io.BytesIO()
    first.save(data, kind, save_all=bool(others), append_images=others, resolution=150)
    return data.getvalue()


@pytest.mark.slow
def test_scanned_pages_are_read(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(packed("PDF", *PAGES))
    (document,) = read_documents(tmp_path / "scan.pdf")
    assert document.text.split() == [word for page in PAGES for line in page for word in line.split()]
    assert [place.name for place in document.places][:1] == ["page 1"]
    assert {place.name for place in document.places} == {"page 1", "page 2"}
    assert [(page.page, page.source, page.read) for page in document.pages] == [("page 1", 21, 21), ("page 2", 17, 17)]


@pytest.mark.system
@pytest.mark.parametrize(("name", "kind", "pages"), [("one.png", "PNG", PAGES[:1]), ("two.tif", "TIFF", PAGES)])
def test_pictures_that_are_named_are_read(tmp_path: Path, name: str, kind: str, pages: tuple[tuple[str, ...], ...]) -> None:
    (tmp_path / name).write_bytes(packed(kind, *pages))
    (document,) = read_documents(tmp_path / name)
    assert document.text.split() == [word for page in pages for line in page for word in line.split()]


@pytest.mark.system
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("lines", [PAGES[0], LONG])
def test_pages_are_read_however_they_lie(tmp_path: Path, degrees: int, lines: tuple[str, ...]) -> None:
    picture(lines).rotate(degrees, expand=True).save(tmp_path / "scan.pdf", resolution=150)
    (document,) = read_documents(tmp_path / "scan.pdf")
    assert document.text.split() == [word for line in lines for word in line.split()]


def scores_by_turns(scores: dict[int, float], sideways: bool) -> Callable[[ocr.Picture], SimpleNamespace]:
    """An engine that reads lines with these scores, by the quarter turns that were made to a picture of 40 to 30."""
    picture = blank()

    def recognize(turned: ocr.Picture) -> SimpleNamespace:
        turns = next(turns for turns in range(4) if np.array_equal(np.rot90(picture, turns), turned))
        box = np.array([[0, 0], [9, 0], [9, 1], [0, 1]], float)
        boxes = [box[:, ::-1] if sideways != bool(turns % 2) else box] * 3
        return SimpleNamespace(txts=("a",) * 3, boxes=boxes, scores=(scores[turns],) * 3)

    return recognize


def blank() -> ocr.Picture:
    return np.arange(40 * 30 * 3, dtype=np.uint8).reshape(40, 30, 3)


@pytest.mark.parametrize(
    ("sideways", "scores", "turns", "readings"),
    [
        (False, {0: 0.95}, 0, 1),
        (False, {0: 0.6, 2: 0.95}, 2, 2),
        (False, {0: 0.6, 2: 0.5}, 0, 2),  # a poor scan, upright
        (True, {0: 0.95, 1: 0.97}, 1, 2),
        (True, {0: 0.6, 3: 0.95}, 3, 2),
        (True, {0: 0.6, 3: 0.5, 1: 0.6}, 1, 3),
    ],
)
def test_pages_are_turned_by_the_shape_and_the_scores_of_their_lines(
    monkeypatch: pytest.MonkeyPatch, sideways: bool, scores: dict[int, float], turns: int, readings: int
) -> None:
    calls = []
    recognize = scores_by_turns(scores, sideways)
    monkeypatch.setattr(ocr, "_recognize", lambda picture: calls.append(1) or recognize(picture))  # type: ignore[func-returns-value]
    picture, recognized = ocr._upright(blank())
    assert np.array_equal(picture, np.rot90(blank(), turns))
    assert recognized.scores[0] == scores[turns]
    assert len(calls) == readings


def test_a_page_without_a_line_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "_recognize", lambda picture: SimpleNamespace(txts=None, boxes=None, scores=None))
    assert np.array_equal(ocr._upright(blank())[0], blank())


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda name: None)
    (tmp_path / "scan.pdf").write_bytes(packed("PDF", *PAGES[:1]))
    monkeypatch.setattr("oreqa.corpus.process.parse", lambda path, data: (read_pdf(data, path), []))
    with pytest.raises(DocumentError, match=r"^it holds no text \(scans need the ocr extra: pip install 'oreqa\[ocr\]'\)$"):
        list(read_documents(tmp_path / "scan.pdf"))
    with pytest.raises(DocumentError, match=r"^scans need the ocr extra"):
        ocr.read_picture(packed("PNG", *PAGES[:1]), Path("a.png"), read_pdf)


def test_pictures_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda name: object())
    data = packed("PNG", *PAGES[:1])
    for damaged in (b"", b"x" * 99, data[:60], data[: len(data) // 2]):
        with pytest.raises(DocumentError, match="it is not a readable picture"):
            ocr.read_picture(damaged, Path("a.png"), read_pdf)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(DocumentError, match="too many pixels"):
        ocr.read_picture(data, Path("a.png"), read_pdf)


def test_only_so_many_pages_of_a_picture_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda name: object())
    monkeypatch.setattr(limits, "PICTURE_FRAMES", 1)
    seen: list[int] = []
    ocr.read_picture(packed("TIFF", *PAGES), Path("a.tif"), lambda data, path: seen.append(data.count(b"/Type /Page\n")))  # type: ignore[arg-type, return-value]
    assert seen == [1]


def test_pictures_in_a_folder_are_passed_over() -> None:
    from oreqa.corpus.readers import is_supported

    assert not any(is_supported(Path(f"a{suffix}")) for suffix in ocr.PICTURES)
