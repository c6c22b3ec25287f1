"""From the reader's logits to spans: the best (passage, span) pairs of each question, by numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oreqa.models.reader.folder import MAX_ANSWER_TOKENS

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WindowLogits:
    """The reader's output on one window: start and end of its passage tokens, which begin with token ``begin``.

    ``opens`` and ``closes`` say at which tokens an answer may begin and end: at the edges of words.
    """

    passage_number: int
    begin: int
    start: Logits
    end: Logits
    selection: float
    opens: NDArray[np.bool_]
    closes: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A span, in tokens of its passage, both ends included.

    ``span`` is the log-probability of its ends, ``selection`` the passage's logit: the highest of its windows.
    """

    passage_number: int
    first: int
    last: int
    span: float
    selection: float


def best_spans(
    windows: Sequence[WindowLogits], top: int, shared: bool, max_tokens: int = MAX_ANSWER_TOKENS
) -> list[TokenSpan]:
    """The ``top`` best spans of every passage of one question, best first.

    A span begins and ends with whole words, ends at or after its start, and has at most ``max_tokens`` tokens. Its
    probability is the softmax of its start times that of its end, taken over all windows of the question (``shared``) or
    of its passage. Spans that two windows see count once, with the better score.
    """
    best_of: dict[tuple[int, int, int], TokenSpan] = {}
    totals = _totals(windows, shared)
    selection = {passage: max(w.selection for w in windows if w.passage_number == passage) for passage in totals}
    for window in windows:
        size = len(window.start)
        if not size:
            continue
        width = min(max_tokens, size)
        padded = np.full(size + width - 1, -np.inf, np.float32)
        padded[:size] = np.where(window.closes, window.end, -np.inf)
        start = np.where(window.opens, window.start, -np.inf)
        # sums[i, d]: the span from token i to token i + d.
        sums = (start[:, None] + np.lib.stride_tricks.sliding_window_view(padded, width)).ravel()
        count = min(top, sums.size)
        best = np.argpartition(-sums, count - 1)[:count]
        for place in best[np.isfinite(sums[best])]:
            first, length = divmod(int(place), width)
            first += window.begin
            key = (window.passage_number, first, first + length)
            span = TokenSpan(*key, float(sums[place]) - totals[window.passage_number], selection[window.passage_number])
            if key not in best_of or best_of[key].span < span.span:
                best_of[key] = span
    ranked = sorted(best_of.values(), key=lambda s: (-s.span, s.passage_number, s.first, s.last))
    left = dict.fromkeys(totals, top)
    kept = []
    for span in ranked:
        if left[span.passage_number] > 0:
            left[span.passage_number] -= 1
            kept.append(span)
    return kept


def _totals(windows: Sequence[WindowLogits], shared: bool) -> dict[int, float]:
    """The normaliser of each passage: log of the summed exponentials of its starts, and of its ends."""
    totals = {}
    passages = {window.passage_number for window in windows}
    for group in [passages] if shared else [{passage} for passage in passages]:
        in_group = [window for window in windows if window.passage_number in group and len(window.start)]
        if in_group:
            starts = np.concatenate([window.start for window in in_group])
            ends = np.concatenate([window.end for window in in_group])
            totals.update(dict.fromkeys(group, _logsumexp(starts) + _logsumexp(ends)))
    return {passage: totals.get(passage, 0.0) for passage in passages}


def _logsumexp(values: Logits) -> float:
    most = float(values.max())
    return most + float(np.log(np.exp(values - most, dtype=np.float64).sum()))
