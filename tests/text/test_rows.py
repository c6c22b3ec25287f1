from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oreqa.core import Span
from oreqa.text.rows import record_text, row_cells, row_text, whole_cell

NAMES = st.text("abcXYZ _.-", min_size=1, max_size=60)
VALUES = st.text("abc 0123.,-|", min_size=1, max_size=80)


@given(
    st.lists(st.tuples(NAMES, VALUES), min_size=2, max_size=8), st.sampled_from(["", "A line.\n", "a: b; c: d\n"]), st.data()
)
def test_the_cells_of_a_row_are_what_it_was_made_of(cells: list[tuple[str, str]], before: str, data: st.DataObject) -> None:
    row = row_text(cells)
    text = f"{before}{row}\nAnother line; it is no row."
    found = row_cells(text, len(before) + data.draw(st.integers(0, len(row) - 1)))
    assert [(text[a:b], text[c:d]) for (a, b), (c, d) in found] == cells


@given(st.lists(st.tuples(NAMES, st.just("") | VALUES), min_size=1, max_size=6))
def test_a_record_is_its_filled_cells(cells: list[tuple[str, str]]) -> None:
    names, values = zip(*cells, strict=True)
    filled = [(name, value) for name, value in cells if value]
    assert record_text(names, values) == (row_text(filled) if len(filled) > 1 else None)


@pytest.mark.parametrize(
    ("names", "values"),
    [
        ([], []),
        (["a", "b"], ["x", "y", "z"]),
        (["a", ""], ["x", "y"]),
        (["a", "b"], ["x; c: y", "z"]),
        (["a: b", "c"], ["x", "y"]),
        (["a", "b"], ["x", "y\nz"]),
        (["a", "b"], ["x", "y" * 81]),
    ],
)
def test_cells_that_cannot_be_told_apart_are_no_record(names: list[str], values: list[str]) -> None:
    assert record_text(names, values) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "country: Bhutan",
        "country: Bhutan; Thimphu",
        "Bhutan | Thimphu",
        "It has two parts: a head; and a tail.",
        "a: b; note: " + "x" * 81,
        "a: b; " + "x" * 61 + ": c",
        "a: b; c: d: e; f",
        "a: ; b: c",
        "\n\n",
    ],
)
def test_other_lines_have_no_cells(text: str) -> None:
    assert row_cells(text, 0) == []


def test_cells_without_a_name_and_other_gaps() -> None:
    assert row_text([("a", "1"), (None, "2"), ("", "3")]) == "a: 1; 2; 3"
    assert row_text([("a", "1"), ("b", "2")], "\n") == "a: 1\nb: 2"


@pytest.mark.parametrize(
    ("part", "cell"),
    [("B2", "B2 rare"), ("B2 rare; Mon", "B2 rare"), ("number", "B2 rare"), ("closed", "closed"), ("More", "More")],
)
def test_a_span_in_a_row_becomes_its_cell(part: str, cell: str) -> None:
    text = "number: B2 rare; Mon: closed\nMore: it is no row"
    start = text.index(part)
    span = Span(part, start, start + len(part), 3, 0.5, {"span": 0.5})
    moved = whole_cell(span, text)
    assert (moved.text, text[moved.start : moved.end]) == (cell, cell)
    assert (moved.passage_number, moved.score, moved.scores) == (3, 0.5, {"span": 0.5})
