"""A page of a document as read by oreqa and by another program, and its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Page:
    """A page as another program reads it (``reference``), as oreqa reads it (``text``), and what oreqa reports about it."""

    collection: str
    name: str
    reference: str
    text: str
    left_out: dict[str, int]
    warned: bool


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def table(pages: list[Page]) -> dict[str, dict[str, float]]:
    """Return a row per collection: recall and precision over all its words, and its pages under 95%."""
    rows: dict[str, dict[str, float]] = {}
    for collection in dict.fromkeys(page.collection for page in pages):
        members = [page for page in pages if page.collection == collection]
        counts = [(words(page.reference), words(page.text)) for page in members]
        common = [(theirs & ours).total() for theirs, ours in counts]
        low = [
            page
            for page, (theirs, _), both in zip(members, counts, common, strict=True)
            if theirs.total() >= 20 and both < 0.95 * theirs.total()
        ]
        rows[collection] = {
            "pages": len(members),
            "words": sum(theirs.total() for theirs, _ in counts),
            "recall": round(100 * sum(common) / max(1, sum(theirs.total() for theirs, _ in counts)), 2),
            "precision": round(100 * sum(common) / max(1, sum(ours.total() for _, ours in counts)), 2),
            "pages under 95%": len(low),
            "of them not named": sum(not page.warned for page in low),
        }
    return rows


def print_table(rows: Mapping[str, Mapping[str, float]]) -> None:
    """Print the rows of ``table``."""
    print(f"{'collection':<28}{'pages':>7}{'words':>11}{'recall':>9}{'precision':>11}{'under 95%':>11}{'not named':>11}")
    for name, row in rows.items():
        values = list(row.values())
        print(f"{name:<28}{values[0]:>7,}{values[1]:>11,}{values[2]:>9}{values[3]:>11}{values[4]:>11}{values[5]:>11}")
