from __future__ import annotations

import numpy as np
import pytest

from oreqa.models.reader.spans import WindowLogits, best_spans


def logit(passage: int, begin: int, start: list[float], end: list[float], selection: float = 0.0) -> WindowLogits:
    anywhere = np.ones(len(start), bool)
    return WindowLogits(
        passage, begin, np.array(start, np.float32), np.array(end, np.float32), selection, anywhere, anywhere,
        np.zeros(len(start), np.intp),
    )  # fmt: skip


def slow_spans(windows: list[WindowLogits], top: int, shared: bool, most: int) -> list[tuple[int, int, int, float]]:
    """Every span of every window, one after another."""
    best: dict[tuple[int, int, int], float] = {}
    for window in windows:
        rivals = [w for w in windows if shared or w.passage_number == window.passage_number]
        total = sum(np.log(sum(np.exp(float(v)) for w in rivals for v in getattr(w, side))) for side in ("start", "end"))
        for i in range(len(window.start)):
            for j in range(i, min(i + most, len(window.end))):
                if not (window.opens[i] and window.closes[j]) or window.units[i] != window.units[j]:
                    continue
                key = (window.passage_number, window.begin + i, window.begin + j)
                best[key] = max(best.get(key, -np.inf), float(window.start[i]) + float(window.end[j]) - total)
    found: list[tuple[int, int, int, float]] = []
    for passage in {w.passage_number for w in windows}:
        own = sorted(((*k, v) for k, v in best.items() if k[0] == passage), key=lambda row: -row[3])
        found += own[:top]
    return sorted(found, key=lambda row: -row[3])


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("top", "most"), [(1, 30), (4, 3), (100, 2), (3, 1)])
def test_best_spans_equal_the_slow_search(shared: bool, top: int, most: int) -> None:
    rng = np.random.default_rng(top)
    windows = [
        WindowLogits(
            passage,
            begin,
            *rng.normal(size=(2, n)).astype(np.float32),
            float(passage),
            *(rng.random((2, n)) < 0.8),
            (np.arange(begin, begin + n) >= 5).astype(np.intp),
        )
        for passage, begin, n in ((0, 0, 7), (0, 4, 6), (1, 0, 1), (2, 0, 12))
    ]
    found = best_spans(windows, top, shared, most)
    wanted = slow_spans(windows, top, shared, most)
    assert [(s.passage_number, s.first, s.last) for s in found] == [row[:3] for row in wanted]
    assert [s.span for s in found] == pytest.approx([row[3] for row in wanted], abs=1e-4)
    assert all(s.selection == s.passage_number for s in found)


def test_probabilities_of_all_spans_of_starts_and_ends_are_at_most_one() -> None:
    spans = best_spans([logit(0, 0, [1, 2, 3], [3, 2, 1])], 100, True)
    assert len(spans) == 6
    assert 0 < sum(np.exp(span.span) for span in spans) < 1


def test_every_span_has_its_passages_highest_logit() -> None:
    windows = [logit(0, 0, [9], [9], -6.0), logit(0, 1, [0], [0], 6.0), logit(1, 0, [1], [1], 2.0), logit(0, 2, [], [], 1.0)]
    assert {(s.passage_number, s.selection) for s in best_spans(windows, 1, True)} == {(0, 6.0), (1, 2.0)}
    assert best_spans(windows, 1, True)[0].first == 0  # from the window that selects its passage least


def test_nothing_and_ties() -> None:
    assert best_spans([], 5, True) == []
    assert best_spans([logit(0, 0, [], [])], 5, True) == []
    tied = best_spans([logit(1, 0, [0, 0], [0, 0]), logit(0, 0, [0], [0])], 5, True)
    assert [(s.passage_number, s.first, s.last) for s in tied] == [(0, 0, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1)]
