"""Blocks to a document: sections, places, counts of words."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import PageWords, Place, Section
from oreqa.corpus import limits
from oreqa.corpus.builder import TextBuilder, clip_places, count_words, file_title, real_title
from oreqa.errors import DocumentError


@pytest.fixture
def builder() -> TextBuilder:
    return TextBuilder(Path("a_book.html"))


def test_blocks_and_headings(builder: TextBuilder) -> None:
    builder.add_title("A Book")
    builder.add_block("  Before. ")
    builder.add_heading(2, "One", "#one")
    builder.add_block("Text:", "#one")
    builder.add_block("- item", joined=True)
    builder.add_heading(3, "Deep")
    builder.add_block("Under.", "#under")
    builder.add_heading(2, "Two  words")
    builder.add_block("Joined to nothing.", joined=True)
    document = builder.document()
    assert document.title == "A Book"
    assert document.text == "Before.\n\nText:\n- item\n\nUnder.\n\nJoined to nothing."
    assert [(s.heading, document.text[s.start : s.end]) for s in document.sections] == [
        ("", "Before."),
        ("One", "Text:\n- item"),
        ("One > Deep", "Under."),
        ("Two words", "Joined to nothing."),
    ]
    assert [(p.name, document.text[p.start :][:5]) for p in document.places] == [("#one", "Text:"), ("#under", "Under")]


def test_headings_that_nothing_stands_under(builder: TextBuilder) -> None:
    builder.add_heading(1, "Outer")
    builder.add_heading(2, "Bare", "#bare")
    builder.add_heading(2, "Full")
    builder.add_block("Text.")
    builder.add_heading(1, "Last")
    builder.add_heading(2, "Very last")
    document = builder.document("T")
    assert [(s.heading, document.text[s.start : s.end]) for s in document.sections] == [
        ("Outer", "Bare"),
        ("Outer > Full", "Text."),
        ("", "Last\nVery last"),
    ]
    assert document.places == (Place(0, "#bare"),)


def test_a_heading_that_names_something_is_text_too(builder: TextBuilder) -> None:
    builder.start_page("", 9)
    builder.add_heading(1, "OPTIONS")
    builder.add_heading(2, "--dry-run, -n", "line 2")
    builder.add_block("Shows what would be deleted.", "line 4")
    builder.add_block("Deletes nothing.")
    builder.add_heading(2, "Other options")
    builder.add_block("None.")
    document = builder.document()
    assert document.text == "--dry-run, -n\nShows what would be deleted.\n\nDeletes nothing.\n\nNone."
    assert [section.heading for section in document.sections] == ["OPTIONS > --dry-run, -n", "OPTIONS > Other options"]
    assert [(place.start, place.name) for place in document.places] == [(0, "line 2"), (14, "line 4")]
    assert document.pages[0].read == 14


def test_words_of_pages(builder: TextBuilder) -> None:
    builder.start_page("slide 1", 12)
    builder.add_title("A Book")
    builder.add_heading(1, "Chapter one")
    builder.add_block("Three more words.")
    builder.leave_out("navigation", "Next: Chapter two")
    builder.leave_out("navigation", "Up")
    builder.leave_out("nothing", " - ")
    builder.start_page("slide 2", 1)
    builder.add_block("Word")
    builder.add_page(PageWords("page 9", 5, 5))
    assert builder.document().pages == (
        PageWords("slide 1", 12, 7, {"navigation": 4}),
        PageWords("page 9", 5, 5),
        PageWords("slide 2", 1, 1),
    )


def test_a_second_title_is_a_heading(builder: TextBuilder) -> None:
    for text in ("One", "One", "Two"):
        builder.add_title(text)
        builder.add_block(text.lower())
    document = builder.document()
    assert document.title == "One"
    assert [(s.heading, document.text[s.start : s.end]) for s in document.sections] == [
        ("", "one"),
        ("One", "one"),
        ("Two", "two"),
    ]


def test_a_title_alone_is_the_text(builder: TextBuilder) -> None:
    builder.start_page("", 1)
    builder.add_title("Alone")
    document = builder.document()
    assert (document.title, document.text, document.sections) == ("Alone", "Alone", (Section(0, 5, ""),))
    assert document.pages == (PageWords("", 1, 1),)


def test_what_is_too_long_for_a_heading_is_text(builder: TextBuilder) -> None:
    builder.add_heading(1, "long " * 200)
    assert len(builder.document().text) == 999


def test_places_within_a_block(builder: TextBuilder) -> None:
    builder.add_block("First.")
    builder.add_block("\n  one two", [Place(0, "", 4, 40), Place(7, "", 9, 90)])
    places = builder.document().places
    assert places == (Place(8, "", 5, 43), Place(12, "", 9, 90))


def test_clipping_places() -> None:
    text = "one\ntwo three"
    places = [Place(0, "", 1, 10), Place(8, "", 7, 70)]
    assert clip_places(places, 6, text) == [Place(6, "", 2, 16), Place(8, "", 7, 70)]
    assert clip_places(places, 0, text, 8) == [Place(0, "", 1, 10)]
    assert clip_places(places, 8, text) == [Place(8, "", 7, 70)]
    assert clip_places([Place(4, "page 2")], 0, text) == [Place(4, "page 2")]
    assert clip_places([], 3, text) == []
    assert clip_places(places, 6, text, earlier=clip_places(places, 3, text)[0]) == clip_places(places, 6, text)
    assert clip_places(places, 9, text, earlier=clip_places(places, 6, text)[0]) == clip_places(places, 9, text)
    assert clip_places(places, 3, text, earlier=clip_places(places, 6, text)[0]) == clip_places(places, 3, text)


def test_limits(builder: TextBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TEXT_CHARACTERS", 5)
    builder.add_block("12345")
    with pytest.raises(DocumentError, match="its text is longer"):
        builder.add_block("6")
    monkeypatch.setattr(limits, "SECTIONS", 1)
    builder = TextBuilder(Path("a.txt"))
    for heading in "ab":
        builder.add_heading(1, heading)
        builder.add_block(heading)
    with pytest.raises(DocumentError, match="more than 1 sections"):
        builder.document()


def test_small_functions() -> None:
    assert count_words("It's 1.5 – naïve, don't_you") == 7
    assert file_title(Path("annual_report-2024.txt")) == "annual report 2024"
    assert file_title(Path("---.txt")) == "---.txt"
    assert TextBuilder(Path("a.txt")).document().sections == ()


@pytest.mark.parametrize(
    "title",
    [
        "", "Microsoft Word - plan.doc", "Microsoft Excel - a", "PowerPoint-Präsentation", "PowerPoint Presentation", "untitled",
        "Untitled Document", "Document 1", "document1", "Presentation1", "Slide 1", "Title", "(anonymous)", "my long plan.docx",
        "plan.text",
    ],
)  # fmt: skip
def test_titles_that_programs_make_up(title: str) -> None:
    assert not real_title(title)


def test_real_titles() -> None:
    assert real_title(" The\n plan ") == "The plan"
    assert real_title("Documents of 2024") == "Documents of 2024"
    assert real_title("About version 2.0") == "About version 2.0"


def test_a_heading_that_is_a_release_is_text(builder: TextBuilder) -> None:
    builder.add_heading(1, "4.10.1 (2026-05-02)")
    builder.add_block("Fixes a crash.")
    builder.add_heading(1, "1.2 Installing")
    builder.add_block("Run it.")
    assert builder.document().text == "4.10.1 (2026-05-02)\nFixes a crash.\n\nRun it."
