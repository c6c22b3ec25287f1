"""Select the best answer spans of each passage from a reader's logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oreqa.models.reader.inputs import MAX_ANSWER_TOKENS

Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WindowLogits:
    """The reader's output for one window, whose passage tokens begin at token ``begin`` of the passage.

    ``start`` and ``end`` are logits of those tokens, ``selection`` is that of the window. ``opens`` and ``closes`` mask the
    tokens at which an answer may begin and end: those that begin or end a word. ``units`` numbers the sentences, list items
    and rows of the tokens. ``blocks`` are log-odds that the tokens belong to the answer; None for readers without a block
    head. All arrays are ``[tokens]``.
    """

    passage_number: int
    begin: int
    start: Logits
    end: Logits
    selection: float
    opens: NDArray[np.bool_]
    closes: NDArray[np.bool_]
    units: NDArray[np.intp]
    blocks: Logits | None = None


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A span, in tokens of its passage; ``first`` and ``last`` are inclusive.

    ``span`` is the log-probability of its start and end, ``selection`` the passage's logit: the maximum over its windows.
    """

    passage_number: int
    first: int
    last: int
    span: float
    selection: float


def best_spans(
    windows: Sequence[WindowLogits], k: int, shared: bool, max_tokens: int = MAX_ANSWER_TOKENS
) -> list[TokenSpan]:
    """Return the ``k`` best spans of each passage of one question, the spans of all passages together, best first.

    A span consists of whole words of one of the windows' ``units``, and has at most ``max_tokens`` tokens. Its probability
    is the product of the softmax of its start and of its end, normalised over all windows of the question (``shared``) or of
    its passage. A span in two windows counts once, with its higher score.
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
        # sums[i, d] is the score of the span from token i to token i + d.
        sums = start[:, None] + np.lib.stride_tricks.sliding_window_view(padded, width)
        ends = np.minimum(np.arange(size)[:, None] + np.arange(width), size - 1)
        sums[window.units[ends] != window.units[:, None]] = -np.inf
        sums = sums.ravel()
        count = min(k, sums.size)
        best = np.argpartition(-sums, count - 1)[:count]
        for place in best[np.isfinite(sums[best])]:
            first, length = divmod(int(place), width)
            first += window.begin
            key = (window.passage_number, first, first + length)
            span = TokenSpan(*key, float(sums[place]) - totals[window.passage_number], selection[window.passage_number])
            if key not in best_of or best_of[key].span < span.span:
                best_of[key] = span
    ranked = sorted(best_of.values(), key=lambda s: (-s.span, s.passage_number, s.first, s.last))
    remaining = dict.fromkeys(totals, k)
    selected = []
    for span in ranked:
        if remaining[span.passage_number] > 0:
            remaining[span.passage_number] -= 1
            selected.append(span)
    return selected


def _totals(windows: Sequence[WindowLogits], shared: bool) -> dict[int, float]:
    """Return each passage's log normaliser: logsumexp of the start logits plus logsumexp of the end logits."""
    totals = {}
    passages = {window.passage_number for window in windows}
    for group in [passages] if shared else [{passage} for passage in passages]:
        in_group = [window for window in windows if window.passage_number in group and len(window.start)]
        if in_group:
            starts = np.concatenate([window.start for window in in_group])
            ends = np.concatenate([window.end for window in in_group])
            totals.update(dict.fromkeys(group, _logsumexp(starts) + _logsumexp(ends)))
    return {passage: totals.get(passage, 0.0) for passage in passages}


def answer_log_odds(start: Logits, end: Logits, passage: slice) -> float:
    """Return the log-odds that a window contains an answer, for a reader not trained to select passages.

    ``start`` and ``end`` are the logits ``[tokens]`` of the window, ``passage`` is the passage's part of it. Such readers
    learn to choose [CLS] as start and end if nothing answers (Devlin et al. 2019, section 4.3). So this plus a span's
    log-probability is their score of the span minus that of no answer.
    """
    ends = [logits[passage] for logits in (start, end)]
    answer = sum(_logsumexp(logits) for logits in ends) if len(ends[0]) else 0.0
    return answer - float(start[0]) - float(end[0])


def _logsumexp(values: Logits) -> float:
    highest = float(values.max())
    return highest + float(np.log(np.exp(values - highest, dtype=np.float64).sum()))
