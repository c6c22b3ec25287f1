"""The numbers and dates in the cells of a column, where all of them can be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

EMPTY = {"", "-", "--", "–", "—", "n/a", "na", "nan", "none", "null", "?", "."}
"""What stands in a cell without a value, in lower case."""

_NUMBER = re.compile(r"(?P<before>[^\d\s.,+-]{0,3}) ?(?P<number>[+-]?(?:\d[\d.,\s]*)?\d) ?(?P<unit>[^\d\s.,][^\d]{0,11})?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([,.\s])\d{3}(?:\1\d{3})*")
_DECIMALS = re.compile(r"([.,])(\d+)$")
_ISO = re.compile(r"(\d{4})[-/](\d{1,2})(?:[-/](\d{1,2}))?(?:[T ]\d{2}:\d{2}.*)?")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[. ] ?([A-Za-z]{3,9}|\d{1,2})[., ] ?(\d{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?, ?(\d{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def quantities(cells: Sequence[str]) -> list[float | None] | None:
    """The value of each cell of a column, None for one without; None for all if they cannot be compared.

    They can where all are dates, which become days, or all are numbers that have one unit or none and write thousands and
    decimals in one way.

    Examples:
        >>> quantities(["1,200 kg", "", "950 kg"]), quantities(["950 kg", "2 t"])
        ([1200.0, None, 950.0], None)
    """
    filled = [cell.strip() for cell in cells if cell.strip().lower() not in EMPTY]
    values = _dates(filled) or _numbers(filled)
    if not values:
        return None
    each = iter(values)
    return [None if cell.strip().lower() in EMPTY else next(each) for cell in cells]


def are_dates(cells: Sequence[str]) -> bool:
    """Whether all cells of a column that are not empty hold dates or years."""
    filled = [cell.strip() for cell in cells if cell.strip().lower() not in EMPTY]
    return bool(filled) and (bool(_dates(filled)) or all(re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", cell) for cell in filled))


def _dates(cells: Sequence[str]) -> list[float] | None:
    days = [_day(cell) for cell in cells]
    return None if None in days else [day for day in days if day is not None]


def _day(text: str) -> float | None:
    if match := _ISO.fullmatch(text):
        year, month, day = match[1], match[2], match[3] or "1"
    elif match := _DAY_FIRST.fullmatch(text):
        day, month, year = match.groups()
    elif match := _MONTH_FIRST.fullmatch(text):
        month, day, year = match.groups()
    else:
        return None
    number = int(month) if month.isdigit() else _month(month)
    try:
        return float(date(int(year), number, int(day)).toordinal())
    except ValueError:
        return None


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1 if name[:3].lower() in _MONTHS else 0


def _numbers(cells: Sequence[str]) -> list[float] | None:
    matches = [_NUMBER.fullmatch(cell) for cell in cells]
    parts = [(match["before"].strip(), match["number"], match["unit"] or "") for match in matches if match]
    if len(parts) < len(cells) or len({(before, unit) for before, _, unit in parts}) > 1:
        return None
    numbers = [number for _, number, _ in parts]
    decimal = _decimal_mark(numbers)
    values = [_value(number, decimal) for number in numbers] if decimal else [None]
    return None if None in values else [value for value in values if value is not None]


def _decimal_mark(numbers: Sequence[str]) -> str | None:
    """The mark before decimals, which three figures behind it do not tell; None where numbers differ in it."""
    marks = {match[1] for number in numbers if (match := _DECIMALS.search(number)) and len(match[2]) != 3}
    return "." if not marks else marks.pop() if len(marks) == 1 else None


def _value(number: str, decimal: str) -> float | None:
    whole, _, fraction = number.partition(decimal)
    plain = re.sub(r"[,.\s]", "", whole)
    if (plain != whole and not _GROUPED.fullmatch(whole)) or (fraction and not fraction.isdecimal()):
        return None
    return float(f"{plain}.{fraction or 0}")
