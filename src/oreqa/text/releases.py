"""Headings of change logs: a version, and the day of its release."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oreqa.core import Range

_VERSION = r"v?(?P<version>\d+(?:\.\d+)+(?:[-+.~]?[A-Za-z][\w.+-]*)?)"
_DATE = r"[^()\[\]\n]{0,24}\b(?:19|20)\d\d\b[^()\[\]\n]{0,12}"
_HEADING = re.compile(
    rf"(?:(?:version|release|changes in) |(?P<name>[^\W\d][\w.+-]* ))?\[?{_VERSION}\]?(?:\([^()\s]*\))?"
    rf"(?:\s*[-–—/:,]?\s*[(\[]?(?P<date>{_DATE})[)\]]?)?:?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_DRAFT = re.compile(r"rc|alpha|beta|pre|dev", re.IGNORECASE)
_NO_NAME = frozenset(
    ("appendix", "chapter", "clause", "example", "figure", "item", "part", "rule", "section", "step", "table")
)


@dataclass(frozen=True, slots=True)
class ReleaseHeading:
    """Where a heading holds a version and its day, (0, 0) without one; what orders versions, drafts before their release;
    and whether it is a draft, as a release candidate is.

    Examples:
        >>> heading = "4.10.1 (2026-05-02)"
        >>> release = release_of(heading)
        >>> heading[slice(*release.version)], heading[slice(*release.date)]
        ('4.10.1', '2026-05-02')
    """

    version: Range
    date: Range
    order: tuple[tuple[int, ...], int]
    draft: bool


def release_of(heading: str) -> ReleaseHeading | None:
    """The release that a heading of a change log is about; None for other headings, as "1.2 Installing" or "Table 2.1".

    The name of a program stands before a version only where a day follows.
    """
    match = _HEADING.fullmatch(heading) if len(heading) <= 80 else None
    if match is None or (match["name"] and (not match["date"] or match["name"].strip().lower() in _NO_NAME)):
        return None
    version = match["version"]
    numbers = re.split(r"[-+.~]?[A-Za-z]", version)[0]
    date = match.span("date") if match["date"] else (0, 0)
    order = (tuple(map(int, _NUMBER.findall(numbers))), 0 if len(numbers) < len(version) else 1)
    return ReleaseHeading(match.span("version"), date, order, bool(_DRAFT.search(version[len(numbers) :])))
