from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from pptx import Presentation
from pptx.util import Inches

from oreqa.core import MISSING, Document, PageWords
from oreqa.corpus.formats.office.pptx import read_pptx
from oreqa.errors import DocumentError

BOX = (Inches(1), Inches(1), Inches(2), Inches(1))


def read(deck: object, **changes: tuple[bytes, bytes]) -> Document:
    buffer = io.BytesIO()
    deck.save(buffer)  # type: ignore[attr-defined]
    if changes:
        changed = io.BytesIO()
        with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(changed, "w") as target:
            for name in source.namelist():
                old, new = changes.get(Path(name).stem, (b"", b""))
                target.writestr(name, source.read(name).replace(old, new) if old else source.read(name))
        buffer = changed
    return read_pptx(buffer.getvalue(), Path("a.pptx"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(s.heading, document.text[s.start : s.end]) for s in document.sections]


def test_rows_below_a_header_name_their_columns() -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    table = slide.shapes.add_table(2, 3, *BOX).table
    for number, text in enumerate(("Name", "Price", "Place", "Pot", "8", "Ghent")):
        table.cell(number // 3, number % 3).text = text
    document = read(deck)
    assert document.text == "Name: Pot; Price: 8; Place: Ghent"
    assert document.pages[0].source == document.pages[0].read == 6


def test_slides_are_sections_with_their_places() -> None:
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text, first.placeholders[1].text = "The Octopus", "A talk"
    second = deck.slides.add_slide(deck.slide_layouts[1])
    second.shapes.title.text, second.placeholders[1].text = "Hearts", "It has three.\nThey beat."
    table = second.shapes.add_table(2, 2, *BOX).table
    table.cell(0, 0).merge(table.cell(0, 1))
    table.cell(0, 0).text, table.cell(1, 0).text, table.cell(1, 1).text = "both", "left", "right"
    second.notes_slide.notes_text_frame.text = "Say it slowly."
    third = deck.slides.add_slide(deck.slide_layouts[6])
    group = third.shapes.add_group_shape()
    group.shapes.add_textbox(*BOX).text_frame.text = "In a\vgroup"
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "The end"
    document = read(deck)
    assert document.title == "The Octopus"
    assert parts(document) == [
        ("", "A talk"),
        ("Hearts", "It has three.\nThey beat.\n\nboth\nleft | right\n\nSay it slowly."),
        ("slide 3", "In a\ngroup"),
        ("", "The end"),
    ]
    assert [place.name for place in document.places] == ["slide 1", "slide 2", "slide 2, notes", "slide 3", "slide 4"]
    assert [page.page for page in document.pages] == [f"slide {n}" for n in (1, 2, 3, 4)]
    assert all(page.source == page.read + sum(page.left_out.values()) for page in document.pages)


def test_counters_are_omitted_and_footers_but_once() -> None:
    deck = Presentation()
    for text in ("one", "two"):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = text, text
        for kind, shown in (("ftr", "ACME Ltd"), ("sldNum", "7")):
            shape = slide.shapes.add_textbox(*BOX)
            shape.text_frame.text = shown
            shape._element.nvSpPr.nvPr.get_or_add_ph().set("type", kind)
    document = read(deck)
    assert parts(document) == [("", "one\n\nACME Ltd"), ("two", "two")]
    assert [page.left_out for page in document.pages] == [{"headers and footers": 1}, {"headers and footers": 3}]


def test_alternatives_are_read_once() -> None:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(*BOX).text_frame.text = "once"
    head, tail = (
        b'<mc:AlternateContent xmlns:mc="m"><mc:Choice>',
        b"</mc:Choice><mc:Fallback><a:t>once</a:t></mc:Fallback></mc:AlternateContent>",
    )
    document = read(deck, slide1=(b"<a:r><a:t>once</a:t></a:r>", head + b"<a:r><a:t>once</a:t></a:r>" + tail))
    assert document.text == "once"
    assert document.pages[0].source == 1


def test_damaged_slides() -> None:
    deck = Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "One"
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Two"
    document = read(deck, slide1=(b"<p:cSld", b"<<<"))
    assert document.text == "Two"
    assert document.pages[0] == PageWords("slide 1", 0, 0, {MISSING: 0})
    assert read(Presentation()).text == ""
    with pytest.raises(DocumentError, match=r"not a readable \.pptx"):
        read_pptx(b"PK", Path("a.pptx"))


def strike(frame: object, text: str, kind: str = "sngStrike") -> None:
    """Add a run that is struck out, which the library has no property for."""
    run = frame.paragraphs[0].add_run()  # type: ignore[attr-defined]
    run.text = text
    run.font._element.set("strike", kind)


def test_what_is_struck_out_is_omitted_and_counted() -> None:
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    title, body = first.shapes.title.text_frame, first.placeholders[1].text_frame
    title.text, body.text = "Prices", "The kettle costs"
    strike(title, " of 2024")
    strike(body, " 59 or", "dblStrike")
    strike(body, " 39 euros.", "noStrike")
    table = first.shapes.add_table(2, 3, *BOX).table
    for number, text in enumerate(("Name", "Price", "Place", "Pot", "8", "Ghent")):
        table.cell(number // 3, number % 3).text = text
    strike(table.cell(1, 1).text_frame, " 9 euros")
    strike(first.notes_slide.notes_text_frame, "Ask for more.")
    strike(deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text_frame, "Gone at once")
    document = read(deck)
    assert document.title == "Prices"
    assert document.text == "The kettle costs 39 euros.\n\nName: Pot; Price: 8; Place: Ghent"
    assert [page.left_out for page in document.pages] == [{"struck-out text": 9}, {"struck-out text": 3}]
    assert all(page.source == page.read + sum(page.left_out.values()) for page in document.pages)
