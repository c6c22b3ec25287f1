"""A tenth of every data set's articles is held out of all training: what is tuned and calibrated is tuned on it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from oreqa.datasets.squad import Paragraph, readable_title

HELD_OUT = 10
"""One article in so many is held out."""


def is_held_out(paragraph: Paragraph) -> bool:
    """Whether a paragraph's article (or the paragraph itself, where it has no title) is held out of training."""
    return is_held_out_name(readable_title(paragraph.title) or paragraph.text)


def is_held_out_name(name: str) -> bool:
    """Whether what bears this title (or is this text) is held out."""
    return int.from_bytes(hashlib.sha1(name.encode()).digest()[:8]) % HELD_OUT == 0


def split_articles(paragraphs: Iterable[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """Paragraphs to train on, and those held out."""
    train: list[Paragraph] = []
    held: list[Paragraph] = []
    for paragraph in paragraphs:
        (held if is_held_out(paragraph) else train).append(paragraph)
    return train, held
