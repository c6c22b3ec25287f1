"""Fit the weights of an index's search on questions with answers, and compare them with those in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oreqa.arrays import Doubles
from oreqa.core import UNITS, Unit
from oreqa.evaluation.metrics import paired_difference
from oreqa.fitting.examples import Split
from oreqa.fitting.fusion import Pool, fit_positive_fusion, join_pools, pool_of_question, reciprocal_ranks_of
from oreqa.fitting.measuring import is_better
from oreqa.index.scores import SCORES
from oreqa.index.scoring import plain_weights
from oreqa.index.search import Index
from oreqa.progress import Progress, show

NAMES = tuple(SCORES)

Fusion = Mapping[Unit, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class FittedSearch:
    """Fitted weights, and for each unit the reciprocal ranks of the held-out questions' answers ``before`` and ``after``.

    ``is_better`` says whether they find the answers better than those that the index uses, in both units together.
    """

    fusion: Fusion
    before: Mapping[Unit, Sequence[float]]
    after: Mapping[Unit, Sequence[float]]
    is_better: bool


def fit_search(index: Index, split: Split, seed: int, progress: Progress) -> FittedSearch:
    """Fit the weights of both units on the questions of a split, and rank the answers to the held-out ones by them.

    Ranks are among the candidates that any score puts first; an answer that is none of them counts as not found.
    """
    examples = [example for example in (*split.fit, *split.measured) if example.golds]
    size = sum(bool(example.golds) for example in split.fit)
    plain = _array(plain_weights(SCORES, index.snapshot()))
    pools: list[Pool] = []
    with show(progress, "scoring sentences", len(examples)) as advance:
        scores = index.raw_scores([example.question.text for example in examples])
        for number, (example, of_question) in enumerate(zip(examples, scores, strict=True)):
            pools.append(pool_of_question(number, of_question, NAMES, plain, example.golds, False))
            advance(1)
    fit, measured = join_pools(pools[:size]), join_pools(pools[size:])
    fusion: dict[Unit, dict[str, float]] = {}
    before, after = {}, {}
    for unit in UNITS:
        weights = fit_positive_fusion([fit.of_unit(unit)], plain)
        fusion[unit] = {name: round(weight, 5) for name, weight in zip(NAMES, weights.tolist(), strict=True)}
        before[unit], after[unit] = (
            reciprocal_ranks_of(measured, _array(by_name), unit, range(size, len(examples)))
            for by_name in (index.weights(unit), fusion[unit])
        )
    sums = [np.sum([ranks[unit] for unit in UNITS], axis=0).tolist() for ranks in (before, after)]
    gain = paired_difference(sums[0], sums[1], seed)
    return FittedSearch(fusion, before, after, is_better(gain, bool(index.fitted.fusion)))


def _array(weights: Mapping[str, float]) -> Doubles:
    return np.array([weights.get(name, 0.0) for name in NAMES])
