"""The rectangles of a text on a PDF's pages: compared with the words, and with the ink, that are there."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
from drawn_pdf import pdf
from reportlab.pdfgen.canvas import Canvas

from oreqa.core import Document
from oreqa.corpus.formats.pdf.boxes import TextBox, find_boxes
from oreqa.corpus.formats.pdf.layout import stretches_between
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError

REAL = [Path("/usr/share/doc/libtasn1-doc/libtasn1.pdf"), Path("/usr/share/doc/shared-mime-info/shared-mime-info-spec.pdf")]


def read(file: Path) -> Document:
    (document,) = read_documents(file)
    return document


def boxes_of(file: Path, text: str) -> list[TextBox]:
    document = read(file)
    return find_boxes(file, document.layout, document.text.index(text), text)


def words_in(pages: pypdfium2.PdfDocument, boxes: list[TextBox]) -> list[str]:
    """The words in boxes, by PDFium; pages that are neither rotated nor cropped."""
    words = []
    for box in boxes:
        page = pages[box.page - 1]
        width, height = page.get_size()
        left, bottom, right, top = box.left * width, (1 - box.bottom) * height, box.right * width, (1 - box.top) * height
        words += page.get_textpage().get_text_bounded(left - 0.01, bottom - 0.01, right + 0.01, top + 0.01).split()
    return words


@pytest.mark.slow
def test_boxes_hold_the_words_of_their_text(tmp_path: Path) -> None:
    rng = random.Random(5)
    words = [f"{rng.choice(('sea', 'octo', 'arm', 'ﬁn'))}{n}" for n in range(900)]
    texts = ["\n".join(" ".join(words[at : at + 10]) for at in range(first, first + 300, 10)) for first in (0, 300, 600)]
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(texts, draw=lambda canvas, number: canvas.drawString(72, 800, f"The running head {number}")))
    check_words(file, rng, 40)


@pytest.mark.slow
@pytest.mark.parametrize("file", REAL, ids=lambda file: file.name)
def test_boxes_in_a_real_manual(file: Path) -> None:
    if not file.is_file():
        pytest.skip(f"{file} is not here: install its Debian package")
    check_words(file, random.Random(7), 40)


def check_words(file: Path, rng: random.Random, rounds: int) -> None:
    document, pages = read(file), pypdfium2.PdfDocument(file)
    for _ in range(rounds):
        (stretch,) = rng.sample(stretches_between(document.layout, 0, len(document.text)), 1)
        start = stretch.start + rng.randrange(stretch.length)
        text = document.text[start : start + rng.randrange(1, 400)]
        words = words_in(pages, find_boxes(file, document.layout, start, text))
        placed = "".join(
            document.text[s.start : s.start + s.length] + " "
            for s in stretches_between(document.layout, start, start + len(text))
        )
        whole = re.findall(r"\w\w+", placed)
        words_inside = " ".join(words)
        assert all(word in words_inside for word in whole[1:-1])
        assert len(words) <= len(placed.split()) + 2 * (placed.count(" ") + 1)


def test_a_rectangle_a_line_over_pages(tmp_path: Path) -> None:
    lines = [
        f"the octopus of line {number} has eight arms and lives in the sea and eats crabs and shells" for number in range(6)
    ]
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(["\n".join(lines[:3]), "\n".join(lines[3:])]))
    boxes = boxes_of(file, "arms and lives in the sea and eats crabs and shells the octopus of line 3 has")
    assert [box.page for box in boxes] == [1, 2]
    assert boxes[0].top > boxes[1].top
    assert words_in(pypdfium2.PdfDocument(file), boxes) == [
        "arms",
        "and",
        "lives",
        "in",
        "the",
        "sea",
        "and",
        "eats",
        "crabs",
        "and",
        "shells",
        "the",
        "octopus",
        "of",
        "line",
        "3",
        "has",
    ]
    assert [
        box.page
        for box in boxes_of(
            file, "line 1 has eight arms and lives in the sea and eats crabs and shells the octopus of line 2"
        )
    ] == [1, 1]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (50, 100, 500, 580)])
def test_rotated_and_cropped_pages(tmp_path: Path, rotation: int, crop: tuple[int, int, int, int] | None) -> None:
    """Where PDFium draws ink is where the rectangle is."""

    def draw(canvas: Canvas, number: int) -> None:
        canvas.drawString(200, 300, "MARKED")
        canvas.setPageRotation(rotation)
        if crop:
            canvas.setCropBox(crop)

    file = tmp_path / "a.pdf"
    file.write_bytes(pdf([""], draw=draw))
    (box,) = boxes_of(file, "MARKED")
    ink = np.asarray(pypdfium2.PdfDocument(file)[0].render(scale=4).to_pil().convert("L")) < 128
    (rows, columns), (height, width) = np.nonzero(ink), ink.shape
    assert (box.left, box.right) == pytest.approx((columns.min() / width, (columns.max() + 1) / width), abs=0.003)
    assert (box.top, box.bottom) == pytest.approx((rows.min() / height, (rows.max() + 1) / height), abs=0.003)


def test_text_without_a_place(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(["Text."]))
    layout = read(file).layout
    assert find_boxes(file, layout, 2, "") == []
    assert find_boxes(file, layout, 5, "behind it") == []
    assert find_boxes(file, b"", 0, "Text.") == []


def test_other_text_than_was_indexed(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(["Text.", "A page."]))
    layout = read(file).layout
    with pytest.raises(DocumentError, match="other text stands on page 1 than was indexed: index it again"):
        find_boxes(file, layout, 0, "Next.")
    file.write_bytes(pdf(["Text."]))
    with pytest.raises(DocumentError, match="it has 1 pages, and the text stood on page 2: index it again"):
        find_boxes(file, layout, 7, "A page.")
    file.write_bytes(pdf(["", "A page."]))
    with pytest.raises(DocumentError, match="other text stands on page 1"):
        find_boxes(file, layout, 0, "Text.")


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: b"x" + data, lambda data: data[:20]])
def test_a_damaged_layout(tmp_path: Path, damage: object) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(["Text."]))
    with pytest.raises(DocumentError, match="its layout is damaged: index it again"):
        find_boxes(file, damage(read(file).layout), 0, "Text.")  # type: ignore[operator]


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf(["Text."]))
    layout = read(file).layout
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(DocumentError, match="it is not a readable PDF"):
        find_boxes(file, layout, 0, "Text.")
