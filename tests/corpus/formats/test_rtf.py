"""RTF: paragraphs, headings and tables; what is no RTF is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.rtf import read_rtf
from oreqa.errors import DocumentError


def read(body: str, head: str = r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}") -> Document:
    return read_rtf(f"{head}{body}}}".encode("latin-1"), Path("some_name.rtf"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def test_paragraphs() -> None:
    document = read(r"\f0 The motto is {\b Slow} and {\i sound}.\par A second\line line.\par")
    assert (document.title, document.text) == ("some name", "The motto is Slow and sound.\n\nA second\n\nline.")


def test_characters() -> None:
    assert read(r"Caf\'e9 co\-op \u8364? \u55357?\u56842? \{a\} a\~b").text == "Café coop € 😊 {a} a\xa0b"


def test_headings_by_outline_level() -> None:
    style = r"{\stylesheet{\s1\outlinelevel0 heading 1;}}"
    body = r"\pard\outlinelevel0 One\par\pard\plain Text.\par\pard\outlinelevel1 Two\par\pard More.\par\pard\outlinelevel9 Body.\par"
    assert parts(read(style + body)) == [("One", "Text."), ("One > Two", "More.\n\nBody.")]


def test_rows_of_tables_name_their_columns() -> None:
    rows = "".join(
        rf"\trowd\cellx9 {a}\cell {b}\cell {c}\cell\row" for a, b, c in (("Item", "Price", "Count"), ("Pen|", "2", "7"))
    )
    assert read(rows + r"\pard After a|b.\par").text == "Item: Pen|; Price: 2; Count: 7\n\nAfter a|b."


def test_the_title_is_the_one_in_the_properties() -> None:
    assert read(r"{\info{\title The gu\'edld}{\author A}}Text.").title == "The guíld"


@pytest.mark.parametrize("data", [b"", b"plain text", b"PK\x03\x04"])
def test_what_is_no_rtf_is_refused(data: bytes) -> None:
    with pytest.raises(DocumentError, match="it is not RTF"):
        read_rtf(data, Path("a.rtf"))


def test_a_damaged_file_gives_what_it_holds() -> None:
    assert read_rtf(rb"{\rtf1 One.\par {\b Tw", Path("a.rtf")).text == "One.\n\nTw"
    assert read("{" * 5000 + "deep" + "}" * 5000).text == "deep"


def test_what_is_struck_out_is_omitted_and_counted() -> None:
    style = r"{\stylesheet{\s5\strike Struck;}{\s6 Plain;}}"
    body = (
        r"It costs {\strike 59 or \b 49\b0  or {\strike0 now} some} 39 euros.\par "
        r"A \striked1 b\par c\plain  d \strike e\strike0 f \\strike g.\par"
    )
    document = read(style + body)
    assert document.text == "It costs now 39 euros.\n\nA\n\nd f \\strike g."
    (page,) = document.pages
    assert page.left_out == {"struck-out text": 8}
    assert page.source == page.read + 8


def test_struck_out_cells_keep_their_columns() -> None:
    header = r"\trowd\cellx9 Item\cell Price\cell Count\cell\row"
    row = r"\trowd\cellx9 Pen\cell \strike 2\cell 3\strike0 4\cell\row"
    assert read(header + row + r"\pard After.\par").text == "Item: Pen; Count: 4\n\nAfter."
