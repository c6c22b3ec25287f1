from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import rankdata

from oreqa.core import Unit
from oreqa.fitting.fusion import (
    NATURAL,
    PENALTY_OF_SPREAD,
    Pool,
    best_ranks,
    fit_fusion,
    fit_positive_fusion,
    join_pools,
    pool_of_question,
    reciprocal_ranks_of,
)
from oreqa.index.scoring import QuestionScores

SCALES = np.array([0.2, 12.0, 4.0])


def drawn(seed: int, questions: int = 40, candidates: int = 15, useful: tuple[float, ...] = (1.0, 0.5, 0.0)) -> Pool:
    """Candidates whose gold has higher scores on the whole, by scores of different scales."""
    rng = np.random.default_rng(seed)
    size = questions * candidates
    gold = rng.random(size) < 0.1
    gold[::candidates] |= rng.random(questions) < 0.7
    x = (rng.normal(size=(size, 3)) + gold[:, None] * np.array(useful)) * SCALES
    passage = rng.integers(0, 6, size)
    return Pool(x.astype(np.float32), gold, np.repeat(np.arange(questions), candidates), passage)


def slow_loss(weights: np.ndarray, pools: list[Pool], used: list[int]) -> float:
    """The negative log-likelihood of the gold, question by question."""
    total = 0.0
    every = np.concatenate([pool.x[np.isin(pool.question, pool.question[pool.gold])] for pool in pools])[:, used]
    for pool in pools:
        losses = []
        for number in set(pool.question[pool.gold].tolist()):
            rows = [row for row in range(len(pool.gold)) if pool.question[row] == number]
            scores = [math.fsum(w * v for w, v in zip(weights, pool.x[row, used].tolist(), strict=True)) for row in rows]
            highest = max(scores)
            parts = [math.exp(score - highest) for score in scores]
            losses.append(-math.log(sum(p for p, row in zip(parts, rows, strict=True) if pool.gold[row]) / sum(parts)))
        total += sum(losses) / len(losses)
    spread = every.astype(np.float64).std(0)
    return float(total / len(pools) + PENALTY_OF_SPREAD * np.sum((weights * spread) ** 2))


def test_the_weights_are_the_least_of_the_loss() -> None:
    pools, used = [drawn(0, 12), drawn(1, 6)], [0, 1]
    weights = fit_fusion(pools, used, np.ones(2))
    slow = minimize(slow_loss, weights * 1.1, args=(pools, used), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 5000})  # fmt: skip
    assert slow_loss(weights, pools, used) <= slow.fun + 1e-7
    assert weights == pytest.approx(slow.x, rel=1e-2)


def test_questions_without_gold_change_nothing() -> None:
    pool = drawn(2)
    without = Pool(pool.x[:15] * 3, np.zeros(15, bool), np.full(15, 99), pool.passage[:15])
    expected = fit_fusion([pool], [0, 1, 2], np.ones(3))
    assert fit_fusion([join_pools([pool, without])], [0, 1, 2], np.ones(3)) == pytest.approx(expected, rel=1e-4)
    assert fit_fusion([without], [0, 1, 2], np.ones(3)).tolist() == [1, 1, 1]


def test_what_orders_all_questions_right_keeps_finite_weights() -> None:
    gold = np.tile([True, False, False], 5)
    x = np.c_[gold, np.zeros(15)].astype(np.float32)
    weights = fit_fusion([Pool(x, gold, np.repeat(np.arange(5), 3), np.arange(15))], [0, 1], np.ones(2))
    assert np.isfinite(weights).all()
    assert weights[0] > 1


def test_the_scale_of_a_score_does_not_matter() -> None:
    pool = drawn(3)
    plain = 1 / SCALES
    weights = fit_positive_fusion([pool], plain)
    factors = np.array([100.0, 0.01, 7.0])
    larger = Pool((pool.x * factors).astype(np.float32), pool.gold, pool.question, pool.passage)
    assert fit_positive_fusion([larger], plain / factors) * factors == pytest.approx(weights, rel=1e-2)
    assert NATURAL * weights[:2] == pytest.approx(fit_fusion([pool], [0, 1, 2], plain)[:2], rel=0.2)


def test_no_weight_is_negative() -> None:
    pool = drawn(4, useful=(1.0, -0.8, -0.8))
    plain = 1 / SCALES
    weights = fit_positive_fusion([pool], plain)
    assert (fit_fusion([pool], [0, 1, 2], plain)[1:] < 0).all()
    assert weights[1:] == pytest.approx(plain[1:] / 100)
    alone = fit_fusion([pool], [0], plain[:1])
    assert weights[0] == pytest.approx(alone[0] / NATURAL)
    assert (fit_positive_fusion([drawn(5, useful=(-1, -1, -1))], plain) > 0).all()


@pytest.mark.parametrize("unit", ["sentence", "passage"])
def test_ranks(unit: Unit) -> None:
    pool = drawn(6, 8)
    pool = Pool(pool.x.round(0), pool.gold, pool.question, pool.passage)  # with ties
    weights = np.array([1.0, 1.0, 0.0])
    ranks = best_ranks(pool, weights, unit)
    for number in range(8):
        rows = np.flatnonzero(pool.question == number)
        if not pool.gold[rows].any():
            assert number not in ranks
            continue
        scores, gold = (pool.x[rows] @ weights).tolist(), pool.gold[rows].tolist()
        if unit == "passage":
            names = sorted({*pool.passage[rows].tolist()})
            members = [[i for i, row in enumerate(rows) if pool.passage[row] == name] for name in names]
            scores, gold = [max(scores[i] for i in of) for of in members], [any(gold[i] for i in of) for of in members]
        assert ranks[number] == rankdata(-np.array(scores))[np.array(gold)].min()
    numbers = [*ranks, 99]
    assert reciprocal_ranks_of(pool, weights, unit, numbers) == [*(1 / rank for rank in ranks.values()), 0.0]


def test_every_sentence_of_a_gold_passage_is_gold_for_passages() -> None:
    pool = Pool(
        np.zeros((4, 1), np.float32), np.array([True, False, False, False]), np.array([0, 0, 0, 1]), np.array([5, 5, 6, 5])
    )
    assert pool.of_unit("passage").gold.tolist() == [True, True, False, False]
    assert pool.of_unit("sentence") is pool
    assert pool.starts.tolist() == [0, 3]


def test_the_candidates_of_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oreqa.fitting.fusion.POOLED", 2)
    owner = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    first = np.array([9, 8, 0, 0, 0, 0, 0, 0], np.float32)
    second = np.array([0, 0, 7, 1], np.float32)  # of passages
    scores = QuestionScores(owner, {"a": "sentence", "b": "passage"}, {"a": first, "b": second})
    kept = pool_of_question(4, scores, ["a", "b"], np.array([0.0, 0.0]), [6], True)
    assert {*kept.passage.tolist()} == {0, 2, 3}  # the best sentences by each score, and the gold one
    assert kept.gold.sum() == 1
    assert set(kept.question.tolist()) == {4}
    left = pool_of_question(4, scores, ["a", "b"], np.array([1.0, 1.0]), [6], False)
    assert not left.gold.any()
    assert left.x.shape[1] == 2
    assert {*left.passage.tolist()} == {0, 2}
