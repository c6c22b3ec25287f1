"""reStructuredText: structure by docutils, and the directives and roles that only Sphinx has."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.rst import read_rst


def read(text: str) -> Document:
    return read_rst(text.encode(), Path("some_name.rst"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def test_title_and_sections() -> None:
    document = read(
        "Guide\n=====\n\nIntro.\n\nOne\n---\n\nText of *one*.\n\nTwo\n~~~\n\nMore ``code``.\n\nThree\n-----\n\nEnd.\n"
    )
    assert document.title == "Guide"
    assert parts(document) == [("", "Intro."), ("One", "Text of one."), ("One > Two", "More code."), ("Three", "End.")]
    assert read("Just text.").title == "some name"


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        (":ref:`the text <target>`, :py:func:`~os.path.join` and :kbd:`Esc`.", "the text, os.path.join and Esc."),
        (".. option:: --dest <dir>\n\n   Where *things* go.\n\n   To here.", "--dest <dir>\nWhere things go.\nTo here."),
        (".. py:function:: open(a)\n              close(a)\n   :module: io\n\n   Opens.", "open(a) close(a)\nOpens."),
        ("A\n\n.. versionadded:: 3.2\n   The mode.", "A\n\nversionadded 3.2 The mode."),
        (".. code-block:: python\n   :linenos:\n\n   x = 1\n   y = 2", "x = 1\ny = 2"),
        (".. prompt:: bash\n\n   ls -l", "ls -l"),
        (".. only:: html\n\n   Shown.", "Shown."),
        ("A\n\n.. toctree::\n   :maxdepth: 2\n\n   a\n\n.. |x| replace:: why\n\nB |x|", "A\n\nB why"),
        ("term\n  One.\n\n  Two.", "term\nOne.\nTwo."),
        ("====  ===\nName  No\n====  ===\nPen   2\n====  ===", "Name: Pen; No: 2"),
        ("250 [1]_ seats\n\n.. [1] Most.", "250 [1] seats\n\n[1]\n\nMost."),
        (".. include:: /etc/passwd\n.. raw:: html\n   :file: /etc/passwd\n\nText.", "Text."),
        ("Broken `ref_ and *emph\n\n.. image::\n\nText.", "Broken `ref_ and *emph\n\nText."),
    ],
)
def test_markup_is_not_text(text: str, read_as: str) -> None:
    assert read(text).text == read_as


def test_each_block_stands_in_its_line() -> None:
    source = "Guide\n=====\n\n.. a comment\n   of two lines\n\nIntro *with* marks\nand a second line.\n\n- item\n"
    document = read(source)
    lines = {document.text[place.start :].split()[0]: place.line for place in document.places}
    assert (lines["Intro"], lines["and"], lines["-"]) == (7, 8, 10)


def test_deep_nesting_and_empty_files() -> None:
    assert read("").text == ""
    deep = "".join(f"{'  ' * depth}- level {depth}\n\n" for depth in range(40))
    assert "level 39" in read(deep).text
