"""Markdown's text is read without its markup, and each part says where it stands in the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oreqa.core import Document
from oreqa.corpus.builder import count_words
from oreqa.corpus.formats.markdown import read_markdown


def read(text: str) -> Document:
    return read_markdown(text.encode(), Path("some_name.md"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def body(text: str) -> str:
    return read(text).text


def check_places(document: Document, source: str) -> None:
    """Every word that is not of a place's separators stands in the file where its place says."""
    assert document.places
    for place, after in zip(document.places, (*document.places[1:], None), strict=True):
        assert place.source is not None
        assert place.line == source[: place.source].count("\n") + 1
        words = document.text[place.start : after.start if after else None].replace(" | ", "").split()
        assert source[place.source :].lstrip().startswith(tuple(words[:1]))


def test_sections_and_title() -> None:
    text = """---
title: "The Title"
---
Before.

# One

Text of one.

## Two

```
# not a heading
```

Three
-----

Last.
"""
    document = read(text)
    assert document.title == "The Title"
    assert parts(document) == [
        ("", "Before."),
        ("One", "Text of one."),
        ("One > Two", "# not a heading"),
        ("One > Three", "Last."),
    ]
    check_places(document, text)
    assert [place.line for place in document.places] == [4, 8, 13, 19]


def test_the_title_is_the_first_heading_or_the_name_of_the_file() -> None:
    document = read("# Title\n\nText.\n\n## Part\n\nMore.\n")
    assert document.title == "Title"
    assert parts(document) == [("", "Text."), ("Part", "More.")]
    assert read("No heading.").title == "some name"


def test_a_heading_without_text_is_text() -> None:
    assert parts(read("# T\n\n## Empty\n\n## Full\n\nText.\n")) == [("", "Empty"), ("Full", "Text.")]
    assert parts(read("# T\n\n## Outer\n\n### Inner\n\nText.\n")) == [("Outer > Inner", "Text.")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Use `git log -p` **now**, *please* ~~never~~.", "Use git log -p now, please ."),
        ('See [the docs](http://a.b/c "Title") and <http://auto.link>.', "See the docs and http://auto.link."),
        ("![a *pink* cat](cat.png) sleeps", "a pink cat sleeps"),
        ("See [one][ref] here.\n\n[ref]: http://a.b", "See one here."),
        ("Fish &amp; chips \\* cost &euro;5", "Fish & chips * cost €5"),
        ("One<br>two <b>bold</b> <!-- hidden -->end", "One\ntwo bold end"),
        ("<div>A <i>b</i>c\nd</div><p>e</p>", "A bc\nd e"),
        ("> quoted\n> text", "quoted\ntext"),
        ("one  \ntwo", "one\ntwo"),
        ("snake_case_name and 2 * 3", "snake_case_name and 2 * 3"),
        ("| a | b |\n|---|---|\n| `x` | y \\| z |", "a: x; b: y | z"),
        ("| a | b |\n|---|---|\n| x | y |\n| | z |\n| v | |", "a: x; b: y\n\nz\nv"),
        ("| a | a |\n|---|---|\n| x | y |", "a | a\nx | y"),
        ("Sizes:\n\n| a | b | c |\n|---|---|---|\n| x | | z<br>w |", "Sizes:\na | b | c\nx | z\nw"),
    ],
)
def test_markup_is_not_text(source: str, text: str) -> None:
    assert body(source) == text


def test_lists_and_code_stay_with_the_sentence_before_them() -> None:
    assert body("Choose:\n\n- one\n- two\n\n  more\n\nAfter.") == "Choose:\n- one\n- two\nmore\n\nAfter."
    assert body("No colon.\n\n* one\n* two") == "No colon.\n\n- one\n- two"
    assert body("1. first\n2. second\n   - inner") == "1. first\n2. second\n- inner"
    assert body("Run this:\n\n```sh\nls -l\ncd\n```\n\nAfter.") == "Run this:\nls -l\ncd\n\nAfter."
    assert body("Run this.\n\n    ls -l\n\nAfter.") == "Run this.\nls -l\n\nAfter."
    assert body("Sizes:\n\n| a |\n|---|\n| 1 |") == "Sizes:\na\n1"


def test_a_line_of_dashes_is_no_front_matter() -> None:
    assert body("---\n\nIntro that matters.\n\n---\n\nRest.") == "Intro that matters.\n\nRest."
    assert body("---\nIntro: yes\n---\n\nRest.") == "Intro: yes\n\nRest."
    assert body("---\n# a comment\ntitle: T\n---\n\nRest.") == "Rest."
    assert parts(read("---\nJust text\n---\n\nRest.")) == [("Just text", "Rest.")]


def test_lines_end_at_line_feeds_alone() -> None:
    text = "# A\n\na\x0cb\u2028c\n\nsecond para\n\nthird\n"
    document = read(text)
    for words in ("second", "third"):
        (place,) = [place for place in document.places if document.text[place.start :].startswith(words)]
        assert (place.source, place.line) == (text.index(words), text[: text.index(words)].count("\n") + 1)


HEADINGS = "## Install\n\nRun make.\n\n## `port`\n\nIt is 80.\n\n### The *licence*\n\nMIT."


def test_a_table_of_contents_is_omitted() -> None:
    contents = "- [Install](#install)\n- [`port`](#port)\n  1. [The *licence*](#the-licence)"
    document = read(f"# W\n\n{contents}\n\n{HEADINGS}")
    assert document.text == "Run make.\n\nIt is 80.\n\nMIT."
    assert [document.text[place.start :].split()[0] for place in document.places] == ["Run", "It", "MIT."]
    assert [place.line for place in document.places] == [9, 13, 17]
    (page,) = document.pages
    assert page.left_out["contents"] == 9
    assert page.source == page.read + sum(page.left_out.values())


@pytest.mark.parametrize(
    "listed",
    [
        "- [Install](#install)\n- [`port`](#port)",
        "- [Install](#install)\n- [`port`](#port)\n- [Other](#other)",
        "- [Install](a.md)\n- [`port`](#port)\n- [The *licence*](#the-licence)",
        "- [Install](#install) it\n- [`port`](#port)\n- [The *licence*](#the-licence)",
        "- Install\n- `port`\n- The *licence*",
    ],
)
def test_other_lists_are_text(listed: str) -> None:
    assert read(f"{listed}\n\n{HEADINGS}").text.startswith("- Install")


def test_what_is_omitted_is_counted() -> None:
    (page,) = read("---\ntitle: Big cats\n---\n# Lions\n\nSee [this](http://a.b/c) <b>lion</b>.\n").pages
    assert (page.source, page.read) == (13, 4)
    assert page.left_out == {"front matter": 3, "link targets": 4, "markup": 2}


def test_parts_of_a_paragraph_have_places_of_their_own() -> None:
    text = "# T\n\nThe [manual](http://x.y) says\n`two` things.\n"
    document = read(text)
    assert document.text == "The manual says\ntwo things."
    check_places(document, text)
    two = next(place for place in document.places if document.text[place.start :].startswith("two"))
    assert (two.line, text[two.source :][:3]) == (4, "two")


@example(["a", "<i>", "<i>", "\n", "a"])
@example(["a", "<i>", "<i>", "<i>", "\n", "a"])
@given(st.lists(st.sampled_from(["a", "*b*", "`c d`", "[e](f)", "\n", "\n\n", "- ", "# ", "> ", "|", "<i>", "&lt;", "\\_"])))
def test_places_of_any_text(pieces: list[str]) -> None:
    text = " ".join(pieces)
    document = read(text)
    starts = [place.start for place in document.places]
    assert starts == sorted(set(starts))
    assert all(0 <= start < len(document.text) for start in starts)
    assert all(place.line == text[: place.source].count("\n") + 1 for place in document.places)
    (page,) = document.pages
    words = count_words(document.text) + sum(count_words(h) for h in _headings(document))
    # A text that equals its title stands below it, or is the title of a page that has nothing else.
    repeated = count_words(document.title) if document.title == document.text else 0
    assert page.read in (words, words + repeated)


def _headings(document: Document) -> list[str]:
    """Each heading of the sections once, in order, and the title if it is one."""
    headings: list[str] = []
    before: list[str] = []
    for section in document.sections:
        path = section.heading.split(" > ") if section.heading else []
        shared = next((i for i, (a, b) in enumerate(zip(path, before, strict=False)) if a != b), min(len(path), len(before)))
        headings += path[shared:]
        before = path
    return headings + ([document.title] if document.title not in ("some name", document.text) else [])


@pytest.mark.parametrize(
    ("line", "heading"),
    [("## One ##  ", "One"), ("## C#", "C#"), ("##  a  b ", "a b"), ("#\tTab", "Tab"), ("## # ##", "#")],
)
def test_marks_around_a_heading_do_not_belong_to_it(line: str, heading: str) -> None:
    assert read(f"---\ntitle: T\n---\n{line}\ntext").sections[-1].heading == heading


def test_quotes_in_quotes_are_read_however_deep_they_are() -> None:
    source = "\n\n".join(
        [*("> " * depth + f"word{depth}" for depth in (1, 2, 30, 150, 151, 3)), ">" * 40 + "end", ">" * 5000]
    )
    document = read(source)
    assert document.text.split() == ["word1", "word2", "word30", "word150", "word151", "word3", "end"]
    check_places(document, source)


@pytest.mark.parametrize(
    "text", ["", "---", "---\n", "- " * 500 + "deep", "|\n|-\n", "```", "[a]: b", "#", "> " * 300 + "x"]
)
def test_odd_files(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("Take the [[Tools/shears|long shears]] or [[mower]].", "Take the long shears or mower."),
        ("If [[ -f x ]] or [[1]](a.md) or [[a] b].", "If [[ -f x ]] or [1] or [[a] b]."),
        ("It has 250[^1] seats[^note].\n\n[^1]: At most.", "It has 250 seats.\n\n[^1]: At most."),
        ("It costs <s>59</s> 39 and ~~not~~ more.", "It costs  39 and  more."),
        ("One</s> two.", "One two."),
    ],
)
def test_links_of_wikis_marks_of_footnotes_and_struck_out_text(text: str, read_as: str) -> None:
    document = read(text)
    assert document.text == read_as
    (page,) = document.pages
    assert page.source == page.read + sum(page.left_out.values())


def test_front_matter_is_fields_and_a_row_of_the_text() -> None:
    document = read(
        "---\ntitle: 'A guide'\nauthor: Ines Vidal\ndate: 2026-02-01\ntags: [moss, garden]\nplaces:\n- Ulm\nx: {y: 1}\n---\nText.\n"
    )
    assert document.title == "A guide"
    assert document.fields == {"author": "Ines Vidal", "date": "2026-02-01", "tags": "moss, garden", "places": "Ulm"}
    assert document.text == "author: Ines Vidal; date: 2026-02-01; tags: moss, garden; places: Ulm\n\nText."
    assert [(place.line, place.start) for place in document.places if place.line in (3, 10)] == [(3, 0), (10, 71)]
