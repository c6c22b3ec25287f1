from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oreqa.models.extractor.extractor import PassageSpans, WindowScores
from oreqa.models.graph.windows import Tokens


def tokens_of(words: list[int]) -> Tokens:
    """Tokens of one character each, with their words' numbers."""
    offsets = np.array([[i, i + 1] for i in range(len(words))], np.int32).reshape(-1, 2)
    return Tokens(list(range(len(words))), offsets, np.array(words, np.int32))


@st.composite
def passages(draw: st.DrawFn) -> tuple[Tokens, list[WindowScores], int]:
    """A passage in overlapping windows with random scores, and the length of the longest span."""
    starts = draw(st.lists(st.booleans(), max_size=12))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    tokens = tokens_of(np.cumsum(starts).tolist())
    room, step = draw(st.integers(2, 8)), draw(st.integers(1, 2))
    windows = [
        WindowScores(begin, rng.normal(0, 2, (size, size)).astype(np.float32))
        for begin in range(0, max(1, len(starts)), step)
        for size in [min(room, len(starts) - begin)]
    ]
    return tokens, windows, draw(st.integers(1, 5))


def slow_spans(tokens: Tokens, windows: list[WindowScores], longest: int) -> dict[tuple[int, int], float]:
    """Log-probabilities of all spans of whole words, by first and last token."""
    words = [-1, *tokens.words.tolist(), -2]
    scores: dict[tuple[int, int], float] = {}
    for window in windows:
        for i, row in enumerate(window.scores):
            for j, score in enumerate(row):
                first, last = window.begin + i, window.begin + j
                whole = words[first] != words[first + 1] and words[last + 1] != words[last + 2]
                if 0 <= j - i < longest and whole:
                    scores[first, last] = max(float(score), scores.get((first, last), -math.inf))
    total = math.log(sum(map(math.exp, scores.values()))) if scores else 0.0
    return {span: score - total for span, score in scores.items()}


@given(passages())
def test_spans_are_those_of_loops_best_first(passage: tuple[Tokens, list[WindowScores], int]) -> None:
    tokens, windows, longest = passage
    expected = slow_spans(tokens, windows, longest)
    spans = list(PassageSpans(tokens, windows, longest).best())
    assert {(first, last): score for first, last, score in spans} == pytest.approx(expected)
    assert len(spans) == len(expected)
    assert [score for *_, score in spans] == sorted((score for *_, score in spans), reverse=True)


@given(passages(), st.integers(0, 3))
def test_what_was_removed_overlaps_nothing_that_follows(
    passage: tuple[Tokens, list[WindowScores], int], before: int
) -> None:
    spans = PassageSpans(*passage)
    best = spans.best()
    for first, last, _ in list(islice(best, before)):
        spans.remove(first, last)
        following = list(PassageSpans(*passage).best())
        assert any(a <= last and first <= b for a, b, _ in following)
    taken: list[tuple[int, int]] = []
    for first, last, _ in best:
        spans.remove(first, last)
        taken.append((first, last))
    assert all(b < c or d < a for n, (a, b) in enumerate(taken) for c, d in taken[:n])
