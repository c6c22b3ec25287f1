"""Org: headlines, lists, tables and blocks without their marks."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.org import read_org


def read(text: str) -> Document:
    return read_org(text.encode(), Path("some_name.org"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def test_headlines_and_keywords() -> None:
    document = read(
        "#+TITLE: The plan\n#+AUTHOR: Ida\n#+OPTIONS: x\nIntro.\n* TODO [#A] One :tag:\n:PROPERTIES:\n:ID: x\n:END:\nText.\n** Two\nMore.\n* COMMENT Three\nno\n** no\nno\n* Four\nEnd.\n"
    )
    assert (document.title, document.fields) == ("The plan", {"author": "Ida"})
    assert parts(document) == [("", "Intro."), ("One", "Text."), ("One > Two", "More."), ("Four", "End.")]


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("A *b* /i/ =x+y= ~c~ [[http://a][link]] [[b]] 250[fn:1] +gone+ 2+3+4 a/b/c", "A b i x+y c link b 250 2+3+4 a/b/c"),
        ("- a\n  more\n  - [ ] b\n- c :: def\n1. d", "- a more\n- b\nc\ndef\n- d"),
        ("| Name | No |\n|------+----|\n| Pen  | 2  |", "Name: Pen; No: 2"),
        ("#+begin_src sh\n* not a headline\n,* escaped\n#+end_src\n#+BEGIN_QUOTE\nSaid.\n#+END_QUOTE", "* not a headline\n* escaped\n\nSaid."),
        (": fixed\n# comment\n#+CAPTION: Map\n-----\nEnd", "fixed\n\nMap\nEnd"),
        ("#+begin_example\nopen", "open"),
        ("", ""),
    ],
)  # fmt: skip
def test_marks_are_not_text(text: str, read_as: str) -> None:
    assert read(text).text == read_as


def test_places() -> None:
    document = read("#+TITLE: T\n\n# comment\nOne *two*\nthree.\n")
    assert [place.line for place in document.places] == [4, 4, 5]


def test_a_drawer_needs_an_end_before_the_next_headline() -> None:
    assert read("* A\n:note:\nRead.\n* B\n:PROPERTIES:\n:ID:\n:END:\nText.").text == ":note: Read.\n\nText."


def test_blocks_of_comments_are_not_read() -> None:
    text = "One.\n#+begin_comment\nHidden.\n* Too\n#+END_COMMENT\nTwo.\n#+BEGIN_COMMENT\nIt never ends."
    assert read(text).text == "One.\n\nTwo.\n\nIt never ends."
