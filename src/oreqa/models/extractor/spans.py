"""Decode an extractor's scores into the best spans of a passage, none of which overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oreqa.models.graph.windows import Tokens

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WindowScores:
    """The extractor's output for one window, whose passage tokens begin at token ``begin`` of the passage.

    ``scores[i, j]`` (``[tokens, tokens]``) is that of the span from the window's i-th passage token to its j-th.
    """

    begin: int
    scores: Scores


class PassageSpans:
    """The spans of one passage: whole words, of at most ``max_tokens`` tokens.

    A span that lies in two windows has its higher score. Log-probabilities are normalised over all spans of the passage.
    """

    def __init__(self, tokens: Tokens, windows: Sequence[WindowScores], max_tokens: int) -> None:
        size = len(tokens.ids)
        width = min(max_tokens, size)
        # scores[i, d] is that of the span from token i to token i + d.
        self._scores = np.full((size, width), -np.inf, np.float64)
        for window in windows:
            length = len(window.scores)
            for distance in range(min(width, length)):
                part = self._scores[window.begin : window.begin + length - distance, distance]
                np.maximum(part, window.scores.diagonal(distance), out=part)
        opens, closes = tokens.edges(0, size)
        ends = np.arange(size)[:, None] + np.arange(width)
        self._scores[~(opens[:, None] & closes[np.minimum(ends, size - 1)])] = -np.inf
        if np.isfinite(self._scores).any():
            self._scores -= np.logaddexp.reduce(self._scores, axis=None)

    def best(self) -> Iterator[tuple[int, int, float]]:
        """Yield first and last token and log-probability of the spans, best first.

        Spans that overlap what ``remove`` was called for in between are left out.
        """
        scores = self._scores.reshape(-1)  # a view: it shows what is removed meanwhile
        for place in np.argsort(-scores, kind="stable"):
            if np.isfinite(scores[place]):
                first, distance = divmod(int(place), self._scores.shape[1])
                yield first, first + distance, float(scores[place])

    def remove(self, first: int, last: int) -> None:
        """Leave out all spans that overlap the tokens ``first`` to ``last``, inclusive."""
        width = self._scores.shape[1]
        for distance in range(width):
            self._scores[max(0, first - distance) : last + 1, distance] = -np.inf
