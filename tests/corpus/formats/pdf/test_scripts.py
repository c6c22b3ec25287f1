"""Raised digits in PDFs made here: powers, and the marks of footnotes."""

from __future__ import annotations

import re

import pytest
from drawn_pdf import read
from reportlab.pdfgen.canvas import Canvas

from oreqa.corpus.formats.pdf.scripts import without_marks


def raised(*lines: str) -> str:
    """Read a page of lines in which ``^12`` is a number drawn small and raised."""

    def draw(canvas: Canvas, number: int) -> None:
        for row, line in enumerate(lines):
            text = canvas.beginText(72, 720 - 40 * row)
            for part in re.findall(r"\^\d+|[^^]+?(?=\^|$)", line):
                text.setFont("Helvetica", 7 if part[0] == "^" else 12)
                text.setRise(5 if part[0] == "^" else 0)
                text.textOut(part.removeprefix("^"))
            canvas.drawText(text)

    return read([""], draw=draw).text


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["It holds 2^31 bytes or 10^8 of them."], "It holds 2³¹ bytes or 10⁸ of them."),
        (["There are 1,234^5 seats here."], "There are 1,234⁵ seats here."),
        (["The value is 12345 and H2O has 3 atoms."], "The value is 12345 and H2O has 3 atoms."),
        (
            ["There are 1,234^5 seats, and 10^5 in the old hall^5.", "^5 Without the balcony."],
            "There are 1,234 seats, and 10⁵ in the old hall.\n\n⁵ Without the balcony.",
        ),
        (
            ["It has 250^3 seats on 40 m^2 each^4.", "^3Without the balcony.", "^4 Measured."],
            "It has 250 seats on 40 m² each.\n\n³ Without the balcony.\n\n⁴ Measured.",
        ),
    ],
)
def test_raised_digits_are_no_digits_of_the_number(lines: list[str], text: str) -> None:
    assert raised(*lines) == text


def test_marks_leave_the_places_of_the_other_characters() -> None:
    assert without_marks("hall³ . 10³ x⁴", [*range(14)], frozenset("3")) == ("hall. 10³ x⁴", [0, 1, 2, 3, *range(6, 14)])
