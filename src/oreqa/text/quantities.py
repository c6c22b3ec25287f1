"""The numbers and dates in the cells of a column, if all of them are comparable."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from oreqa.text.dates import whole_date

EMPTY = {"", "-", "--", "–", "—", "n/a", "na", "nan", "none", "null", "?", "."}
"""Cell contents that mean no value, in lower case."""

_NUMBER = re.compile(
    r"(?P<before>[^\d\s.,+()\[\]{}<>~≈∼≤≥±=–—-]{0,3}) ?(?P<number>[+-]?(?:\d[\d.,\s]*)?\d)"
    r" ?(?P<unit>[^\d\s.,+<>~≈∼≤≥±=–—-][^\d]{0,11})?"
)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([,.\s])\d{3}(?:\1\d{3})*")
_MARK = re.compile(r"[.,]")
_AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_MINUS = "\N{MINUS SIGN}"


def quantities(cells: Sequence[str]) -> list[float | None] | None:
    """Return the value of each cell of a column, None for an empty one; None for all if they are not comparable.

    They are comparable if all are dates, which become days, or if all are numbers with the same unit or none and a
    consistent format of thousands and decimals. Bounds such as "<5", estimates such as "~5", and text in brackets are
    not comparable.

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
    """Return whether all non-empty cells of a column contain dates or years."""
    filled = [cell.strip() for cell in cells if cell.strip().lower() not in EMPTY]
    return bool(filled) and (bool(_dates(filled)) or all(re.fullmatch(r"1[0-9]{3}|20[0-9]{2}", cell) for cell in filled))


def _dates(cells: Sequence[str]) -> list[float] | None:
    dates = [whole_date(cell) for cell in cells]
    if any(len(parts) < 2 for parts in dates):
        return None
    return [float(date(*(*parts, 1)[:3]).toordinal()) for parts in dates]


def _numbers(cells: Sequence[str]) -> list[float] | None:
    matches = [_NUMBER.fullmatch(cell.replace(_MINUS, "-")) for cell in cells]
    parts = [(match["before"].strip(), match["number"], match["unit"] or "") for match in matches if match]
    if len(parts) < len(cells) or len({(before, unit) for before, _, unit in parts}) > 1:
        return None
    numbers = [number for _, number, _ in parts]
    decimal = _decimal_mark(numbers)
    values = [_value(number, decimal) for number in numbers] if decimal else [None]
    return None if None in values else [value for value in values if value is not None]


def _decimal_mark(numbers: Sequence[str]) -> str | None:
    """Return the decimal mark; None if numbers use different ones, or if "1.234" beside "950" is ambiguous.

    Without other evidence, a comma before three digits separates thousands, as in English.
    """
    marks = {mark for number in numbers if (mark := _evident_mark(number))}
    if marks:
        return marks.pop() if len(marks) == 1 else None
    ambiguous = [match[0] for number in numbers if (match := _MARK.search(number))]
    is_clear = set(ambiguous) <= {","} or (set(ambiguous) == {"."} and len(ambiguous) == len(numbers))
    return "." if is_clear else None


def _evident_mark(number: str) -> str:
    """Return the decimal mark evident from a number: the second of two, not one that occurs twice; empty if ambiguous."""
    marks = _MARK.findall(number)
    if not marks or _AMBIGUOUS.fullmatch(number):
        return ""
    is_grouped = len(marks) > 1 and len(set(marks)) == 1
    return ("," if marks[0] == "." else ".") if is_grouped else str(marks[-1])


def _value(number: str, decimal: str) -> float | None:
    whole, _, fraction = number.partition(decimal)
    plain = re.sub(r"[,.\s]", "", whole)
    if (plain != whole and not _GROUPED.fullmatch(whole)) or (fraction and not fraction.isdecimal()):
        return None
    return float(f"{plain}.{fraction or 0}")
