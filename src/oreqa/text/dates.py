"""Dates as written in documents, parsed uniformly."""

from __future__ import annotations

import re
from datetime import date

Date = tuple[int, ...]
"""A year, with month and day if present; empty without a date."""

_MONTH = (
    r"jan(?:uary?)?|feb(?:ruary?)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR, _TH, _GAP = r"(?P<year>[12]\d{3})(?!\d)", r"(?:st|nd|rd|th)?", r"[., _-] ?"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>[12]\d{3})([-/._])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?:[T ]\d{2}:\d{2}\S*)?(?!\d)",
        r"(?<!\d)(?P<year>[12]\d{3})[-/_](?P<month>\d{1,2})(?![-/_.]?\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}}){_TH}(?:[. _-] ?| of )(?P<month>{_MONTH}|\d{{1,2}}){_GAP}{_YEAR}",
        rf"(?<![^\W\d_])(?P<month>{_MONTH})(?:\. |[. _-])(?P<day>\d{{1,2}}){_TH}(?:{_GAP}|,){_YEAR}",
        rf"(?<![^\W\d_])(?P<month>{_MONTH}){_GAP}{_YEAR}",
        r"(?<!\d)\d{1,2}/\d{1,2}/(?P<year>[12]\d{3})(?!\d)",  # of day and month, whose order differs by country
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?!\d)",
    )
)
_COMPACT = re.compile(r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>[01]\d)(?P<day>[0-3]\d)(?!\d)")


def whole_date(text: str) -> Date:
    """Return the date that a text consists of; empty if it is none.

    Examples:
        >>> whole_date("2 May 2020"), whole_date("May 2020"), whole_date("Sales in 2020")
        ((2020, 5, 2), (2020, 5), ())
    """
    dates = (_date(match) for pattern in _PATTERNS if (match := pattern.fullmatch(text)))
    return next(filter(None, dates), ())


def first_date(text: str) -> Date:
    """Return the first date in a text; empty if there is none.

    Examples:
        >>> first_date("policy-20240501.md"), first_date("From 05.02.2024, not from 2025")
        ((2024, 5, 1), (2024, 2, 5))
    """
    return next((parsed for _, _, parsed in _dates(text)), ())


def without_dates(text: str) -> str:
    """Return a text with a placeholder for each date."""
    parts, last_end = [], 0
    for start, end, _ in _dates(text):
        parts.append(text[last_end:start])
        last_end = end
    return "\0".join([*parts, text[last_end:]])


def _dates(text: str) -> list[tuple[int, int, Date]]:
    """Return the dates in a text with their start and end, in order; of overlapping ones the first and longest."""
    matches = (match for pattern in (_COMPACT, *_PATTERNS) for match in pattern.finditer(text))
    dates = sorted((match.start(), -match.end(), parsed) for match in matches if (parsed := _date(match)))
    disjoint: list[tuple[int, int, Date]] = []
    for start, end, parsed in dates:
        if not disjoint or start >= disjoint[-1][1]:
            disjoint.append((start, -end, parsed))
    return disjoint


def _date(match: re.Match[str]) -> Date:
    parts = match.groupdict()
    month = parts.get("month") or ""
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1 if month else None
    day = int(parts["day"]) if parts.get("day") else None
    try:
        date(int(parts["year"]), 1 if number is None else number, 1 if day is None else day)
    except ValueError:
        return ()
    return tuple(part for part in (int(parts["year"]), number, day) if part is not None)
