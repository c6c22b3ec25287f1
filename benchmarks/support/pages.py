"""A page of a document as oreqa and as another program read it, and its words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Page:
    """A page as another program reads it (``reference``), as oreqa reads it (``text``), and what oreqa reports of it."""

    collection: str
    name: str
    reference: str
    text: str
    left_out: dict[str, int]
    warned: bool


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))
