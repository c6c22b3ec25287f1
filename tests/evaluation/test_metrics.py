from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from oreqa.evaluation.metrics import (
    average_precision,
    best_threshold,
    calibration,
    calibration_error,
    coverage,
    gold_ranks,
    mean_metrics,
    paired_difference,
    question_metrics,
)


def test_a_constant_scorer_scores_as_chance() -> None:
    """Every candidate gets the middle rank, so nothing is ever found on top."""
    scores = np.zeros(101)
    assert gold_ranks(scores, [0]) == gold_ranks(scores, [77]) == [51.0]
    row = question_metrics([51.0])
    assert (row["p@1"], row["p@20"], row["r@20"], row["p@100"]) == (0, 0, 0, 1)
    assert row["mrr"] == 1 / 51


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.data())
def test_ranks_are_scipys(scores: list[int], data: st.DataObject) -> None:
    gold = data.draw(st.lists(st.integers(0, len(scores) - 1), min_size=1, unique=True))
    expected = sorted(rankdata(-np.array(scores), "average")[gold])
    assert gold_ranks(np.array(scores, np.float32), gold) == pytest.approx(expected)


def test_hit_rate_is_not_recall() -> None:
    row = question_metrics([1.0, 3.0, 200.0, math.inf])
    assert (row["p@1"], row["p@5"]) == (1, 1)
    assert (row["r@1"], row["r@5"], row["r@100"]) == (0.25, 0.5, 0.5)


def test_mrr_is_cut_and_uncut() -> None:
    row = question_metrics([150.0])
    assert (row["mrr"], row["mrr@100"]) == (1 / 150, 0)
    assert question_metrics([math.inf])["mrr"] == 0


def test_means() -> None:
    assert mean_metrics([{"mrr": 1.0}, {"mrr": 0.5}, {"mrr": 0.0}]) == {"mrr": 50.0}
    assert mean_metrics([]) == {}


def test_average_precision_is_that_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for size in (1, 2, 10, 200):
        for _ in range(20):
            labels = rng.random(size) < 0.3
            scores = rng.integers(0, 8, size) / 4  # with ties
            if labels.any():
                assert average_precision(scores, labels) == pytest.approx(sklearn.average_precision_score(labels, scores))
    assert average_precision(np.zeros(3), np.zeros(3, bool)) == 0


def test_the_best_threshold_is_that_of_trying_all() -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 9, 40):
        for _ in range(20):
            labels, scores = rng.random(size) < 0.4, rng.integers(0, 6, size).astype(float)
            tried = [np.mean((scores >= t) == labels) for t in (*scores, np.inf)]
            assert np.mean((scores >= best_threshold(scores, labels)) == labels) == max(tried)


def test_coverage_is_the_largest_of_all_thresholds() -> None:
    rng = np.random.default_rng(2)
    for size in (1, 2, 9, 40):
        for precision in (0.5, 0.8, 1.0):
            for _ in range(20):
                right, scores = rng.random(size) < 0.7, rng.integers(0, 6, size).astype(float)
                above = [scores >= threshold for threshold in scores]
                tried = [np.mean(given) for given in above if np.mean(right[given]) >= precision]
                assert coverage(scores, right, precision) == max(tried, default=0)
    assert coverage(np.zeros(0), np.zeros(0, bool), 0.8) == 0


def test_calibration() -> None:
    p, labels = np.array([0.05, 0.05, 0.95, 1.0]), np.array([False, True, True, True])
    rows = calibration(p, labels)
    assert [(row.share, row.accuracy) for row in rows] == [(0.5, 0.5), (0.5, 1.0)]
    assert calibration_error(p, labels) == pytest.approx(0.5 * 0.45 + 0.5 * 0.025)


def test_p_value_is_that_of_all_sign_flips() -> None:
    a, b = [0.1, 0.4, 0.3, 0.2, 0.9, 0.5, 0.0], [0.5, 0.6, 0.2, 0.9, 1.0, 0.5, 0.3]
    delta = np.subtract(b, a)
    flips = [abs(np.dot(signs, delta)) for signs in product((-1, 1), repeat=len(delta))]
    exact = np.mean([f >= abs(delta.sum()) - 1e-12 for f in flips])
    found = paired_difference(a, b)
    assert found.p == pytest.approx(exact, abs=0.02)
    assert found.mean == pytest.approx(delta.mean())
    assert found.low < found.mean < found.high


def test_equal_systems_do_not_differ() -> None:
    found = paired_difference([0.0, 1.0, 0.5] * 10, [0.0, 1.0, 0.5] * 10)
    assert (found.mean, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_clear_difference_and_its_seed() -> None:
    rng = np.random.default_rng(0)
    a = rng.random(500)
    b = a + rng.normal(0.1, 0.05, 500)
    assert paired_difference(a, b).p == pytest.approx(1e-4, rel=0.01)
    assert paired_difference(a, b, 3) == paired_difference(a, b, 3)


def test_unpaired_values_are_refused() -> None:
    with pytest.raises(ValueError, match="paired values are needed: 1 and 2"):
        paired_difference([1], [1, 2])
    with pytest.raises(ValueError, match="paired"):
        paired_difference([], [])
