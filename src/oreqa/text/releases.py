"""Headings of change logs: a version, and its release date."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oreqa.core import Range
from oreqa.text.dates import whole_date

_VERSION = r"v?(?P<version>\d+(?:\.\d+)+(?:[-+.~]?[A-Za-z][\w.+-]*)?)"
_HEADING = re.compile(
    rf"(?:(?:version|release|changes in) |(?P<name>[^\W\d][\w.+-]* ))?\[?{_VERSION}\]?(?:\([^()\s]*\))?"
    r"(?:\s*(?P<mark>[-–—/:,]?)\s*(?P<bracket>[(\[]?)(?P<date>[^()\[\]\n]*\d)[)\]]?)?:?",
    re.IGNORECASE,
)
_BEFORE_DATE = re.compile(
    r"(?:released:? )?(?:on )?(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? )?", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+")
_SUFFIX = re.compile(r"([A-Za-z]+)[-.]?(\d*)")
_STAGES = {
    **dict.fromkeys(("dev", "snapshot", "nightly", "canary", "next", "experimental"), -5),
    **dict.fromkeys(("a", "alpha"), -4), **dict.fromkeys(("b", "beta"), -3),
    **dict.fromkeys(("m", "milestone", "pre", "preview", "ea"), -2), **dict.fromkeys(("c", "rc", "cr"), -1),
    **dict.fromkeys(("p", "pl", "patch", "post", "sp", "hotfix", "rev"), 1),
}  # fmt: skip
"""What letters after a version's numbers mean: a pre-release, before the release, or a later one."""
NO_NAME = frozenset(
    ("appendix", "chapter", "clause", "example", "figure", "item", "part", "rule", "section", "step", "table")
)


VersionOrder = tuple[tuple[int, ...], int, str, int]


@dataclass(frozen=True, slots=True)
class ReleaseHeading:
    """Where a heading has a version and its date, (0, 0) without one; the version's order; and whether it is a pre-release.

    Examples:
        >>> heading = "4.10.1 (2026-05-02)"
        >>> release = release_of(heading)
        >>> heading[slice(*release.version)], heading[slice(*release.date)]
        ('4.10.1', '2026-05-02')
    """

    version: Range
    date: Range
    order: VersionOrder
    draft: bool


def release_of(heading: str) -> ReleaseHeading | None:
    """Return the release that a change log's heading is about; None for other headings, as "1.2 Installing" or "Table 2.1".

    A program's name may precede a version only if a date follows. A year alone must be in brackets, a month without a
    day must follow a dash, as in "1.2 - May 2020".
    """
    match = _HEADING.fullmatch(heading) if len(heading) <= 80 else None
    if match is None:
        return None
    start, end = match.span("date") if match["date"] else (0, 0)
    if start:
        start += len(_BEFORE_DATE.match(heading[start:end])[0])  # type: ignore[index]  # it can match nothing
        parts_needed = 1 if match["bracket"] and not match["name"] else 2 if match["mark"] or match["bracket"] else 3
        if len(whole_date(heading[start:end])) < parts_needed:
            return None
    if match["name"] and (not start or match["name"].strip().lower() in NO_NAME):
        return None
    order = version_order(match["version"])
    return ReleaseHeading(match.span("version"), (start, end), order, order[1] < 0)


def version_order(version: str) -> VersionOrder:
    """Return what orders versions: their numbers; then pre-releases before the release, and letters and patches after it.

    Other letters, as in "5.0.Final" or "1.2+dfsg", do not affect the order.

    Examples:
        >>> sorted(["1.0.2", "1.0.2u", "1.0.2-beta1", "1.0.10"], key=version_order)
        ['1.0.2-beta1', '1.0.2', '1.0.2u', '1.0.10']
    """
    version = version.partition("+")[0]
    numbers = re.split(r"[-.~]?[A-Za-z]", version)[0]
    counted = tuple(map(int, _NUMBER.findall(numbers)))
    for match in _SUFFIX.finditer(version, len(numbers)):
        name, number = match[1].lower(), int(match[2] or 0)
        if match.start() == len(numbers) and not match[2] and re.fullmatch("z?[a-z]", name):  # 1.0.2u, then 1.0.2z, 1.0.2za
            return counted, 1, name, 0
        if name in _STAGES:
            return counted, _STAGES[name], "", number
    return counted, 0, "", 0
