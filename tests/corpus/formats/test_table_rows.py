"""Rows of tables that name their columns."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oreqa.corpus.formats.table_rows import TableRows, looks_like_header


def rows(*cells: Sequence[str], header: int = 1) -> list[tuple[str, bool, bool, int]]:
    emitted = []

    def emit(text: str, place: str, *, is_first: bool, starts_paragraph: bool, words: int) -> None:
        emitted.append((f"{place} {text}", is_first, starts_paragraph, words))

    table = TableRows(emit)
    for number, row in enumerate(cells):
        table.add(row, str(number), is_header=number < header)
    table.end()
    return emitted


def test_the_words_of_a_header_count_once() -> None:
    assert rows(["a b", "c"], ["1", "2"], ["", ""], ["3", "4 5"]) == [
        ("1 a b: 1; c: 2", True, True, 5),
        ("3 a b: 3; c: 4 5", False, True, 3),
    ]


def test_a_row_after_a_record_is_apart_and_the_next_is_not() -> None:
    assert rows(["a", "b"], ["1", "2"], ["3"], ["4"]) == [
        ("1 a: 1; b: 2", True, True, 4),
        ("2 3", False, True, 1),
        ("3 4", False, False, 1),
    ]


def test_a_header_that_cannot_name_columns_ends_the_one_above() -> None:
    assert rows(["a", "b"], ["x", "x"], ["1", "2"], header=2) == [
        ("0 a | b", True, False, 2),
        ("1 x | x", False, False, 2),
        ("2 1 | 2", False, False, 2),
    ]


def test_a_header_without_rows_that_fit_it_is_a_row() -> None:
    assert rows(["a", "b"]) == [("0 a | b", True, False, 2)]
    assert rows(["a", "b"], ["1"], ["2", "3"]) == [
        ("0 a | b", True, False, 2),
        ("1 1", False, False, 1),
        ("2 a: 2; b: 3", False, True, 2),
    ]
    assert rows(["a", "b"], ["c", "d"], ["1", "2"], header=2) == [
        ("0 a | b", True, False, 2),
        ("2 c: 1; d: 2", False, True, 4),
    ]
    assert rows() == rows(["", ""]) == []


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([("Name", "Price", "Place"), ("Pot", "8", "Ghent")], True),
        ([("Name", "Price", "Place")], False),
        ([("Name", "Price"), ("Pot", "8")], False),
        ([("Alice", "Bob", "Carol"), ("Dan", "Eve", "Frank")], False),
        ([("Name", "", "Place"), ("Pot", "8", "Ghent")], False),
        ([("Name", "Name", "Place"), ("Pot", "8", "Ghent")], False),
        ([("Pot", "8", "Ghent"), ("Pan", "9", "Lyon")], False),
        ([("Size", "Zone 1", "Zone 2"), ("Small", "4.10", "5.30")], True),
        ([("Size", "Zone 1", "Zone 2"), ("Small", "4.10", "free")], False),
        ([("Size", "1", "2"), ("Small", "4.10", "5.30")], False),
        ([("x" * 61, "Price", "Place"), ("Pot", "8", "Ghent")], False),
        ([], False),
    ],
)
def test_headers_are_short_distinct_names(table: list[tuple[str, ...]], expected: bool) -> None:
    assert looks_like_header(table) is expected
