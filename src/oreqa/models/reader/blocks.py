"""Finds the tokens of a passage that belong to an answer, for readers with a head for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oreqa.core import Span

BLOCK_HEAD = "qa_blocks"
"""The name of the head, a linear layer ``[1, width]`` on every token."""


def knows_blocks(weights: Collection[str]) -> bool:
    """Return whether the tensor names are those of a reader with the head."""
    return f"{BLOCK_HEAD}.weight" in weights


@dataclass(frozen=True, slots=True, eq=False)
class TokenOdds:
    """The log-odds ``[tokens]`` that each token of a passage belongs to the answering sentence, list item or section.

    ``offsets`` ``[tokens, 2]`` are the tokens' characters in the passage's text, end-exclusive.
    """

    offsets: NDArray[np.int32]
    log_odds: NDArray[np.float32]

    def mean_probability(self, start: int, end: int) -> float:
        """Return the mean probability of the tokens in the characters ``start:end``; 0 if there are none."""
        inside = (self.offsets[:, 1] > start) & (self.offsets[:, 0] < end)
        return float(np.exp(-np.logaddexp(0, -self.log_odds[inside])).mean()) if inside.any() else 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """A reader's output for a question's passages: the best spans, and ``odds`` with each passage's ``TokenOdds`` by number.

    ``odds`` is empty for a reader without that head.
    """

    spans: list[Span]
    odds: tuple[TokenOdds, ...] = ()


def mean_log_odds(windows: Iterable[tuple[int, NDArray[np.float32]]], tokens: int) -> NDArray[np.float32]:
    """Return the log-odds of a passage's tokens ``[tokens]``, from its windows, each given with its first token.

    Tokens in several windows get the mean.
    """
    total, times = np.zeros(tokens, np.float32), np.zeros(tokens, np.float32)
    for begin, log_odds in windows:
        total[begin : begin + len(log_odds)] += log_odds
        times[begin : begin + len(log_odds)] += 1
    total /= np.maximum(times, 1)
    return total
