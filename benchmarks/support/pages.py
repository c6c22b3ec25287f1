"""A page of a document as oreqa and as another program read it, and its words."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Page:
    """A page's text as the independent extractor gives it, and as oreqa reads it; what oreqa's own report says of it."""

    collection: str
    name: str
    reference: str
    own: str
    left_out: dict[str, int]
    warned: bool


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))
