"""Turn the word pieces of a generated question into text."""

from __future__ import annotations

from collections.abc import Sequence


def readable(pieces: Sequence[str]) -> str:
    """Join word pieces to words, with spaces between them."""
    return " ".join(pieces).replace(" ##", "")
