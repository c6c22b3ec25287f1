"""Hold out a tenth of every data set's articles from all training, for tuning and calibration."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from oreqa.datasets.squad import Paragraph, readable_title

HELD_OUT = 10
"""One article in this many is held out."""


def is_held_out(paragraph: Paragraph) -> bool:
    """Return whether a paragraph's article, or the paragraph itself if it has no title, is held out of training."""
    return is_held_out_name(readable_title(paragraph.title) or paragraph.text)


def is_held_out_name(name: str, of: int = HELD_OUT) -> bool:
    """Return whether the article of this title, or the untitled paragraph of this text, is held out: one in ``of``."""
    return int.from_bytes(hashlib.sha1(name.encode()).digest()[:8]) % of == 0


def split_articles(paragraphs: Iterable[Paragraph]) -> tuple[list[Paragraph], list[Paragraph]]:
    """Split paragraphs into those to train on and those held out."""
    train: list[Paragraph] = []
    held: list[Paragraph] = []
    for paragraph in paragraphs:
        (held if is_held_out(paragraph) else train).append(paragraph)
    return train, held
