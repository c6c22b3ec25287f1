"""The sections of manuals in plain text; prose has none."""

from __future__ import annotations

from itertools import pairwise

import pytest

from oreqa.corpus import limits
from oreqa.corpus.formats.manual import manual_sections


def parts(text: str) -> list[tuple[str, str]]:
    return [(section.heading, text[section.start : section.end].strip()) for section in manual_sections(text)]


PAGE = """JOURNALD.CONF(5)

NAME
       journald.conf - settings

OPTIONS
   Where things go
       Storage=
           Controls where.

           One of four.

       Seal=
           Yes.

SEE ALSO
       x(1)
"""


def test_capitals_at_the_margin_are_headings_and_indented_names_are_terms() -> None:
    assert parts(PAGE) == [
        ("", "JOURNALD.CONF(5)"),
        ("NAME", "journald.conf - settings"),
        ("OPTIONS > Where things go > Storage=", "Storage=\n           Controls where.\n\n           One of four."),
        ("OPTIONS > Where things go", "Seal=\n           Yes."),
        ("SEE ALSO", "x(1)"),
    ]


def test_underlines_and_numbers() -> None:
    text = "Guide\n=====\n\nIntro.\n\nOne\n---\nText.\n\nTwo\n---\n\nThree\n---\n\nEnd.\n"
    assert parts(text) == [("Guide", "Intro."), ("Guide > One", "Text."), ("Guide", "Two\n---"), ("Guide > Three", "End.")]
    rfc = "1.  Introduction\n\n   Text.\n\n1.1.  Terms\n\n   More.\n\n2.  End\n\n   Done.\n"
    assert parts(rfc) == [("1.  Introduction", "Text."), ("1.  Introduction > 1.1.  Terms", "More."), ("2.  End", "Done.")]


def test_a_heading_of_two_lines_is_underlined_as_far_as_the_longer_one() -> None:
    long, short = "1. Why does the array have another name\n   than it had?\n", "2. Why\n   is it never assembled again?\n"
    text = f"FAQ\n===\n\n{long}{'~' * 39}\n   Because.\n\n{short}{'~' * 31}\n   So.\n\nAt the margin\nit is a paragraph.\n{'-' * 18}\n"
    assert [heading for heading, _ in parts(text)] == [
        "FAQ > 1. Why does the array have another name than it had?",
        "FAQ > 2. Why is it never assembled again?",
    ]


def test_several_terms_before_what_explains_them() -> None:
    text = "A\n=\n\nOPTIONS\n=======\n\n'-a'\n'--all'\n     Shows.\n\n     All.\n\n   After.\n\nB B\n===\n\nEnd.\n"
    assert ("OPTIONS > -a, --all", "'-a'\n'--all'\n     Shows.\n\n     All.") in parts(text)
    assert ("OPTIONS", "After.") in parts(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "One line.",
        "THE END\n\nIt was late.\n\nHE SAID\n\nnothing.\n",
        "1. milk\n\n2. bread\n",
        "TITLE\n  only one\n",
        "a\n---\n| - |\n",
    ],
)
def test_what_is_no_manual(text: str) -> None:
    assert parts(text) == []


def test_no_text_is_lost() -> None:
    for text in (PAGE, PAGE * 3, "A A\n===\n\nB B\n===\n\n\nC C\n===\n"):
        sections = manual_sections(text)
        assert all(a.end <= b.start for a, b in pairwise(sections))
        shown = " ".join(f"{section.heading} {text[section.start : section.end]}" for section in sections)
        assert set(text.split()) <= set(shown.split()) | {"==="}


def test_terms_are_no_sections_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "NAME\n    x\n\nOPTIONS\n" + "".join(f"    --option{n}\n        One.\n\n        Two.\n\n" for n in range(20))
    assert len(manual_sections(text)) > 20
    monkeypatch.setattr(limits, "SECTIONS", 80)
    assert [section.heading for section in manual_sections(text)] == ["NAME", "OPTIONS"]
