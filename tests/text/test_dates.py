from __future__ import annotations

import pytest
from growth import growth

from oreqa.text.dates import first_date, whole_date, without_dates


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2020-01-02", (2020, 1, 2)),
        ("2020/1/2", (2020, 1, 2)),
        ("2020.01.02", (2020, 1, 2)),
        ("2020-02", (2020, 2)),
        ("2020-12-24T10:00:00", (2020, 12, 24)),
        ("2020-12-24 10:00", (2020, 12, 24)),
        ("2 May 2020", (2020, 5, 2)),
        ("2nd of May, 2020", (2020, 5, 2)),
        ("3. 5. 2020", (2020, 5, 3)),
        ("05.02.2024", (2024, 2, 5)),
        ("31-12-2019", (2019, 12, 31)),
        ("May 2, 2020", (2020, 5, 2)),
        ("Sept. 3, 2020", (2020, 9, 3)),
        ("May 2020", (2020, 5)),
        ("5/2/2020", (2020,)),
        ("2020", (2020,)),
        ("1789-07-14", (1789, 7, 14)),
    ],
)
def test_dates_are_read(text: str, date: tuple[int, ...]) -> None:
    assert whole_date(text) == date
    assert first_date(f"As of {text}, not 2030") == date


@pytest.mark.parametrize(
    "text", ["Sales in 2020", "2020-13-02", "30 February 2020", "2020.5", "12020", "May", "Decade 2020", ""]
)
def test_what_is_no_date(text: str) -> None:
    assert whole_date(text) == ()


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("leave_2024-05-01_final.txt", (2024, 5, 1)),
        ("leave-20240501.txt", (2024, 5, 1)),
        ("Mon, 29 Jun 2026 10:00:00 +0000", (2026, 6, 29)),
        ("2019-20", (2019,)),
        ("12345678, 1.5", ()),
    ],
)
def test_the_first_date_in_a_text(text: str, date: tuple[int, ...]) -> None:
    assert first_date(text) == date


def test_texts_that_differ_in_dates_alone_are_equal_without_them() -> None:
    assert without_dates("leave 31-12-2019, 2018") == without_dates("leave May 2020, 2021-05-01")
    assert without_dates("chapter 1") != without_dates("chapter 2")


def test_reading_dates_takes_linear_time() -> None:
    assert growth(first_date, lambda size: "1-1-" * size, 20_000) < 8
