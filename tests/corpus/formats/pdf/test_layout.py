"""Layouts of PDFs: packed and unpacked against plain loops, and kept by readers and indexes."""

from __future__ import annotations

import random

import pytest
from drawn_pdf import read

from oreqa.corpus.formats.pdf import document as pdf_document
from oreqa.corpus.formats.pdf.layout import pack_layout, stretches_between
from oreqa.corpus.formats.pdf.lines import Line
from oreqa.corpus.formats.pdf.stretches import Stretch


def stretches(rng: random.Random, count: int, largest: int) -> list[Stretch]:
    rows, end = [], 0
    for _ in range(count):
        start = end + rng.randrange(3)
        rows.append(
            Stretch(start, rng.randrange(largest), rng.randrange(largest), rng.randrange(largest), rng.randrange(1, largest))
        )
        end = start + rows[-1].length
    return rows


def between(rows: list[Stretch], start: int, end: int) -> list[Stretch]:
    """The slow, obvious version."""
    parts = []
    for row in rows:
        if row.start >= end or row.start + row.length <= start:
            continue
        inside = [at for at in range(row.start, row.start + row.length) if start <= at < end]
        if inside:
            parts.append(Stretch(inside[0], row.page, row.line, row.first + inside[0] - row.start, len(inside)))
    return parts


@pytest.mark.parametrize("largest", [2, 60, 64, 130, 20_000])
@pytest.mark.parametrize("count", [1, 2, 40, 2001])
def test_what_is_packed_is_unpacked(count: int, largest: int) -> None:
    rng = random.Random(largest)
    rows = stretches(rng, count, largest)
    length = rows[-1].start + rows[-1].length
    assert stretches_between(pack_layout(rows), 0, length) == rows
    for _ in range(20):
        start = rng.randrange(length)
        end = start + rng.randrange(min(500, length))
        assert stretches_between(pack_layout(rows), start, end) == between(rows, start, end)


def test_nothing() -> None:
    assert pack_layout([]) == b""
    assert stretches_between(b"", 0, 10) == []


def test_a_page_takes_few_bytes() -> None:
    text = "\n".join(f"Line {number}: {'the octopus lives in the sea ' * (number % 3 + 1)}" for number in range(45))
    document = read([text] * 8)
    assert 0 < len(document.layout) < 8 * 80


def test_lines_recognized_in_pictures_have_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def recognize_lines(page: object, number: int, before_page: object) -> tuple[list[Line], float]:
        return [Line(number, 0, "Scanned text.", 72, 700, 200, 710, 702, 10)], 842.0

    monkeypatch.setattr(pdf_document, "is_installed", lambda: True)
    monkeypatch.setattr(pdf_document, "recognize_lines", recognize_lines)
    monkeypatch.setattr(pdf_document, "_shows_pictures", lambda page: True)
    document = read(["Real text.", ""])
    assert document.text == "Real text.\n\nScanned text."
    assert [stretch.page for stretch in stretches_between(document.layout, 0, 99)] == [0]
