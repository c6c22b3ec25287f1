"""Fits the weights of retrieval scores: maximum likelihood of the gold sentences in a softmax over pooled candidates.

The candidates of a question are the best sentences by each score. The loss is ListNet's top-one loss (Cao et al. 2007).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from oreqa.arrays import Doubles, Flags, Floats, Rows
from oreqa.core import Unit
from oreqa.index.scoring import QuestionScores

POOLED = 100
"""Best sentences by each score that become a question's candidates."""

NATURAL = 20.0
"""The log-odds between candidates whose sums differ by 1, approximately, with the weights that ship.

Weights fitted for an index have the same scale, so that other weights against the search's score keep their meaning.
"""

PENALTY_OF_SPREAD = 1e-5
"""Weight in the loss of the squared weights, each times the spread of its score: it keeps weights finite if they order all
questions right."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows of candidates, question after question.

    They have the scores ``x``, ``[rows, scores]``, whether each is ``gold``, and the numbers of its ``question`` and
    ``passage``.
    """

    x: Floats
    gold: Flags
    question: Rows
    passage: Rows

    @property
    def starts(self) -> Rows:
        """The first row of each question."""
        return np.flatnonzero(np.r_[True, np.diff(self.question) != 0]) if len(self.question) else np.zeros(0, np.intp)

    def of_unit(self, unit: Unit) -> Pool:
        """Return the same pool for sentences, or for passages: every sentence of a gold passage is gold."""
        if unit == "sentence":
            return self
        keys = self.question.astype(np.int64) << 32 | self.passage
        return replace(self, gold=np.isin(keys, np.unique(keys[self.gold])))

    def rows(self, chosen: Flags) -> Pool:
        """Return some of its rows."""
        return Pool(self.x[chosen], self.gold[chosen], self.question[chosen], self.passage[chosen])


def pool_of_question(
    number: int, scores: QuestionScores, names: Sequence[str], rough: Doubles, golds: Sequence[int], keep: bool
) -> Pool:
    """Return the candidates of question ``number``: the best by each score and by their sum with the weights ``rough``.

    Gold sentences that no score puts among them are dropped unless ``keep`` is set.
    """
    columns = np.stack([scores.by_sentence(name) for name in names], axis=1)
    count = min(POOLED, len(columns))
    rows = set(golds) if keep else set()
    for column in (*columns.T, columns @ rough):
        rows.update(np.argpartition(-column, count - 1)[:count].tolist())
    pooled = np.array(sorted(rows), np.intp)
    gold = np.isin(pooled, np.array(golds, np.intp))
    return Pool(columns[pooled].astype(np.float32), gold, np.full(len(pooled), number), scores.owner[pooled].astype(np.intp))


def join_pools(pools: Sequence[Pool]) -> Pool:
    """Concatenate the rows of all pools. Raises ValueError if there are none."""
    parts = zip(*((pool.x, pool.gold, pool.question, pool.passage) for pool in pools), strict=True)
    return Pool(*(np.concatenate(arrays) for arrays in parts))


def fit_fusion(pools: Sequence[Pool], used: Sequence[int], start: Doubles) -> Doubles:
    """Return the weights of the scores ``used`` that maximise the mean log-likelihood of the gold, pools weighing the same.

    Questions without gold are ignored. The weights are natural: a difference of 1 in the sum makes a candidate e times as
    likely. ``start`` has the initial weight of each score used.
    """
    kept = [pool.rows(np.isin(pool.question, pool.question[pool.gold])) for pool in pools]
    kept = [pool for pool in kept if len(pool.gold)]
    if not kept:
        return start
    spread = np.concatenate([pool.x[:, used] for pool in kept]).astype(np.float64).std(0)
    spread[spread == 0] = 1.0
    parts = [_scaled(pool, used, spread) for pool in kept]

    def loss(weights: Doubles) -> tuple[float, Doubles]:
        value, slope = 0.0, np.zeros_like(weights)
        for x, gold, starts, sizes in parts:
            score = x @ weights
            score -= np.repeat(np.maximum.reduceat(score, starts), sizes)
            e = np.exp(score)
            total, right = np.add.reduceat(e, starts), np.maximum(np.add.reduceat(e * gold, starts), 1e-300)
            value += float(np.mean(np.log(total) - np.log(right)))
            push = e / np.repeat(total, sizes) - e * gold / np.repeat(right, sizes)
            slope += x.T @ push / len(starts)
        penalty = PENALTY_OF_SPREAD * weights
        return value / len(parts) + float(penalty @ weights), slope / len(parts) + 2 * penalty

    weights: Doubles = minimize(loss, start * spread, jac=True, tol=1e-6).x / spread
    return weights


def _scaled(pool: Pool, used: Sequence[int], spread: Doubles) -> tuple[Doubles, Flags, Rows, Rows]:
    """Return scores in units of their spread, gold flags, each question's first row, and its number of rows."""
    starts = pool.starts
    return pool.x[:, used].astype(np.float64) / spread, pool.gold, starts, np.diff(np.r_[starts, len(pool.gold)])


def fit_positive_fusion(pools: Sequence[Pool], plain: Doubles) -> Doubles:
    """Return positive weights for all scores: one that does not help gets a hundredth of its plain weight.

    Hits and confidence thus still have that score.
    """
    used = list(range(len(plain)))
    while True:
        weights = fit_fusion(pools, used, 10 * plain[used])
        if (weights > 0).all() or len(used) == 1:
            break
        used = [score for score, weight in zip(used, weights.tolist(), strict=True) if weight > 0] or [int(np.argmax(plain))]
    every: Doubles = NATURAL * plain / 100
    every[used] = np.maximum(every[used], weights)
    return every / NATURAL


def best_ranks(pool: Pool, weights: Doubles, unit: Unit) -> dict[int, float]:
    """Return the rank of each question's best gold sentence or passage among its candidates, tied ranks averaged.

    Questions without gold are omitted.
    """
    total = pool.x @ weights
    ranks = {}
    for begin, end in zip(pool.starts, [*pool.starts[1:], len(total)], strict=True):
        scores, gold = total[begin:end], pool.gold[begin:end]
        if unit == "passage":
            scores, gold = _by_passage(scores, gold, pool.passage[begin:end])
        if gold.any():
            best = scores[gold].max()
            ranks[int(pool.question[begin])] = float(np.sum(scores > best) + (np.sum(scores == best) + 1) / 2)
    return ranks


def _by_passage(scores: Doubles, gold: Flags, passages: NDArray[np.integer]) -> tuple[Doubles, Flags]:
    """Return the score of each passage, that of its best sentence, and whether one of its sentences is gold."""
    numbers, owner = np.unique(passages, return_inverse=True)
    best, right = np.full(len(numbers), -np.inf), np.zeros(len(numbers), bool)
    np.maximum.at(best, owner, scores)
    right[owner[gold]] = True
    return best, right


def reciprocal_ranks_of(pool: Pool, weights: Doubles, unit: Unit, questions: Collection[int]) -> list[float]:
    """Return the reciprocal rank of each of the questions; 0 if its gold is no candidate."""
    ranks = best_ranks(pool, weights, unit)
    return [1 / ranks[number] if number in ranks else 0.0 for number in questions]
