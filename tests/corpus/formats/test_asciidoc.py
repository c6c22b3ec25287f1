"""AsciiDoc: sections, lists, blocks and tables without their marks."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.asciidoc import read_asciidoc


def read(text: str) -> Document:
    return read_asciidoc(text.encode(), Path("some_name.adoc"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def test_header_and_sections() -> None:
    document = read(
        "= The *great* guide\nIda Holm <i@x.org>\nv1.0\n:app: Muninn\n\nIntro to {app}.\n\n== One\n\nText.\n\n=== Two\n\nMore.\n\nThree\n-----\nEnd.\n"
    )
    assert (document.title, document.fields) == ("The great guide", {"author": "Ida Holm"})
    assert read("= Guide: {page-name}\n:page-name: F.A.Q.\n\nText.").title == "Guide: F.A.Q."
    assert parts(document) == [("", "Intro to Muninn."), ("One", "Text."), ("One > Two", "More."), ("Three", "End.")]


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("-a::\n--all:: Show\nall.\n+\nAgain.\n\n-b::\n  Both.", "-a\n--all\nShow all.\nAgain.\n\n-b\nBoth."),
        ("* one\n** two\n* three\n\n. first\n. second\n\nEnd.", "- one\n- two\n- three\n1. first\n2. second\n\nEnd."),
        ("It is *bold*, _it_, `code`, ``a_b``, +x+ and a*b*c --never or 1--2.", "It is bold, it, code, a_b, x and a*b*c --never or 1—2."),
        ("See <<id,the part>>, link:a.html[this], https://a.b[that^] and linkgit:git-log[1].", "See the part, this, that and git-log(1)."),
        ("[.line-through]#59# [line-through]#49# [.line-through]##29##s 39 H~2~O x^2^", "s 39 H2O x²"),
        ("----\nx = 1 <1>\n  *y*\n----\n<1> sets x", "x = 1\n  *y*\n\n1. sets x"),
        ("// comment\n////\nhidden\n////\n++++\n<raw>\n++++\n[NOTE]\n====\nMind.\n====\ninclude::x[]\nifdef::a[shown]\n", "Mind.\n\nshown"),
        (".Prices\n[cols=\"1,1\",options=\"header\"]\n|===\n|Name |No\n|Pen\n|2\n2+|all\n|===", "Prices\n\nName: Pen; No: 2\n\nall"),
        ("|===\n|A |B\n\n|1 |2\n|===", "A: 1; B: 2"),
        ("|===\n|A |B |C\n\n.2+|tall |1 |2\n|3 |4\n2.2+|wide |5\n|6\n3*|7\n|===", "A: tall; B: 1; C: 2\n\nA: tall; B: 3; C: 4\n\nA: wide; B: wide; C: 5\n\nA: wide; B: wide; C: 6\n\nA: 7; B: 7; C: 7"),
        ("[cols=\"1,1\",options=\"header\"]\n.Prices\n|===\n|Name |No |Pen\n|2\n|===", "Prices\n\nName: Pen; No: 2"),
        ("Text:\n\n  a  b\n  c\n\nimage::x.png[A map]\n", "Text:\na  b\n  c\n\nA map"),
        ("never closed\n\n----\ncode", "never closed\ncode"),
        ("|===\n|open", "open"),
    ],
)  # fmt: skip
def test_marks_are_not_text(text: str, read_as: str) -> None:
    assert read(text).text == read_as


def test_places_and_empty_files() -> None:
    document = read("= T\n\n////\nlong\n////\n\nOne *two*\nthree.\n")
    assert [(place.line, document.text[place.start :].split()[0]) for place in document.places] == [
        (7, "One"), (7, "two"), (8, "three."),
    ]  # fmt: skip
    assert read("").text == ""


def test_an_endless_line_takes_linear_time() -> None:
    assert read("*a ((b [[c << " * 20_000).text.startswith("*a ((b")
