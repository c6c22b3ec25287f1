"""Shared by the adapters of readers: the probability that a passage answers."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from oreqa.core import Span

_CERTAIN = 700.0
"""Log-odds beyond which an exponential overflows."""


def answered_probability(spans: Sequence[Span]) -> float:
    """Return the probability that the passage of these spans answers the question; 0 without spans."""
    if not spans:
        return 0.0
    return 1 / (1 + exp(-min(max(spans[0].scores["passage_logit"], -_CERTAIN), _CERTAIN)))
