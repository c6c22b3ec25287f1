"""The characters of PDFs made here: cleaned, and composed with their accents."""

from __future__ import annotations

import pytest
from drawn_pdf import read
from growth import growth
from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from oreqa.corpus.formats.pdf.characters import clean_character


@pytest.mark.parametrize(
    ("char", "clean"),
    [
        ("ﬃ", "ffi"),
        ("ﬁ", "fi"),
        ("²", "²"),
        ("\xad", ""),
        ("\0", ""),
        ("\ud800", ""),
        ("\uf0b7", "•"),
        ("\xa0", " "),
        ("\u200b", ""),
    ],
)
def test_characters_come_out_clean(char: str, clean: str) -> None:
    assert clean_character(ord(char)) == clean


@pytest.mark.parametrize("order", ["before", "after", "at the end"])
def test_accents_drawn_apart_are_composed(order: str) -> None:
    def draw(canvas: Canvas, number: int) -> None:
        """Draw a line letter by letter, with accents on "u", "A" and the "ı" without a dot, and one below "c"."""
        registerFont(TTFont("Vera", "Vera.ttf"))
        canvas.setFont("Vera", 12)
        x, marks = 72.0, []
        for char in "for Muller, Arger, Marıa and Francois":
            accent = {"u": "\xa8", "A": "\xa8", "c": "\xb8", "ı": "\xb4"}.get(char, "")
            mark = (x + (canvas.stringWidth(char) - canvas.stringWidth(accent)) / 2, 720 + 2.4 * (char == "A"), accent)
            if order == "before":
                canvas.drawString(*mark)
            canvas.drawString(x, 720, char)
            if order == "after":
                canvas.drawString(*mark)
            marks.append(mark)
            x += canvas.stringWidth(char)
        if order == "at the end":
            for mark in marks:
                canvas.drawString(*mark)

    document = read([""], draw=draw)
    assert document.text == "for Müller, Ärger, María and François"
    assert document.pages[0].read == 6
    assert document.pages[0].source <= 6


def test_accents_over_no_letter_that_takes_them_stay() -> None:
    text = "query the `name' at 20\xb4 and a`b"
    assert read([text]).text == text
    above = read([text], draw=lambda canvas, _: canvas.drawString(73.5, 720, "\xa8")).text
    assert above.count("\xa8") == 1
    assert above.replace("\xa8", "").split() == text.split()


def test_many_accents_take_time_in_proportion() -> None:
    def work(size: int) -> str:
        return "\n".join(["`\xa8\xb4" * 40] * size)

    assert growth(lambda page: read([page]), work, 20) < 9
