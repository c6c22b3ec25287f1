from __future__ import annotations

import pytest

from oreqa.text.quantities import are_dates, quantities


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["41", "38", "-2"], [41, 38, -2]),
        (["1,140", "99.5", "", "n/a"], [1140, 99.5, None, None]),
        (["1.200,50", "3,5"], [1200.5, 3.5]),
        (["0.123", "12.5", "1.234"], [0.123, 12.5, 1.234]),
        (["1 200 000", "12"], [1200000, 12]),
        (["€5", "€ 6.20"], [5, 6.2]),
        (["120 m", "99.5 m"], [120, 99.5]),
        (["5%", "10 %"], [5, 10]),
        (["−5", "3"], [-5, 3]),
        (["€ −5", "€3"], [-5, 3]),
        (["1.234", "52.520"], [1.234, 52.52]),  # thousands or not, the order is one
        (["1.234.567", "950", "1.234"], [1234567, 950, 1234]),
        (["1234.567", "950"], [1234.567, 950]),
        (["1,234.567", "950"], [1234.567, 950]),
    ],
)
def test_numbers_of_one_unit(cells: list[str], values: list[float | None]) -> None:
    assert quantities(cells) == values


@pytest.mark.parametrize(
    "cells",
    [
        ["5 kg", "6 g"],
        ["5", "6 g"],
        ["€5", "$6"],
        ["1.5", "1,5"],
        ["1,23,456", "7"],
        ["0,123", "1.5"],
        ["10-20", "5"],
        ["about 5", "6"],
        ["1.2.3", "1.2"],
        ["1.234", "950"],
        ["1.234", "1,234"],
        ["(5)", "(7)"],
        ["[5]", "[7]"],
        ["<5", "<7"],
        [">5", ">7"],
        ["≤ 5", "≤ 7"],
        ["~5", "~7"],
        ["5+", "7+"],
        ["2020-01-02", "2021"],
        ["2020-13-02", "2020-01-01"],
        ["", "-"],
        [],
    ],
)
def test_what_cannot_be_compared(cells: list[str]) -> None:
    assert quantities(cells) is None


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-02", "2020-02", "2021-01-01"],
        ["2 May 2020", "3. 5. 2020", "1st June 2021"],
        ["05.02.2024", "01.03.2024"],
        ["May 2020", "1 June 2020"],
        ["May 2, 2020", "Sept. 3, 2020", "2020-12-24T10:00:00"],
    ],
)
def test_dates_are_in_order(cells: list[str]) -> None:
    days = quantities(cells)
    assert days is not None
    assert None not in days
    assert days == sorted(days, key=float)
    assert are_dates(cells)


def test_years_are_numbers_and_dates() -> None:
    assert quantities(["1990", "2001", ""]) == [1990, 2001, None]
    assert are_dates(["1990", "2001", ""])
    assert not are_dates(["1990", "200"])
    assert not are_dates(["", ""])
