"""Fits the weights of an index's search on questions with answers, and compares them with those in use."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oreqa.arrays import Doubles
from oreqa.core import UNITS, Unit
from oreqa.evaluation.metrics import Difference, paired_difference
from oreqa.fitting.examples import Split
from oreqa.fitting.fusion import Pool, fit_positive_fusion, join_pools, pool_of_question, reciprocal_ranks_of
from oreqa.fitting.measuring import is_better
from oreqa.index.scores import SCORES
from oreqa.index.scoring import plain_weights
from oreqa.index.search import Index
from oreqa.progress import Progress, show

NAMES = tuple(SCORES)

FOLDS = 5
"""Folds of the questions, each ranked by weights fitted on the others to see whether fitting helps."""

Fusion = Mapping[Unit, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class FittedSearch:
    """Fitted weights, and for each unit the reciprocal ranks of the held-out questions' answers ``before`` and ``after``.

    ``is_better`` says whether weights fitted on other questions find the answers significantly better than those of the
    index, in both units together (``cross_validated``).
    """

    fusion: Fusion
    before: Mapping[Unit, Sequence[float]]
    after: Mapping[Unit, Sequence[float]]
    is_better: bool


def fit_search(index: Index, split: Split, seed: int, progress: Progress) -> FittedSearch:
    """Fit the weights of both units on the questions of a split, and rank the answers to the held-out ones with them.

    Ranks are among the candidates that any score puts first; an answer outside of them counts as not found.
    """
    examples = [example for example in (*split.fit, *split.measured) if example.golds]
    size = sum(bool(example.golds) for example in split.fit)
    plain = _array(plain_weights(SCORES, index.snapshot()))
    pools: list[Pool] = []
    with show(progress, "scoring sentences", len(examples)) as advance:
        scores = index.raw_scores([example.question.text for example in examples])
        for number, (example, question_scores) in enumerate(zip(examples, scores, strict=True)):
            pools.append(pool_of_question(number, question_scores, NAMES, plain, example.golds, False))
            advance(1)
    used: Fusion = {unit: index.weights(unit) for unit in UNITS}
    fusion, measured = fitted_weights(pools[:size], plain), range(size, len(examples))
    before, after = (ranks_by_unit(pools, measured, weights) for weights in (used, fusion))
    groups = [split.group_of(example) for example in examples]
    return FittedSearch(fusion, before, after, is_better(cross_validated(pools, groups, used, plain, seed), True))


def fitted_weights(pools: Sequence[Pool], plain: Doubles) -> Fusion:
    """Return the weights of both units fitted to the pools of some questions."""
    joined = join_pools(pools)
    by_unit = {unit: fit_positive_fusion([joined.of_unit(unit)], plain).tolist() for unit in UNITS}
    return {unit: {n: round(w, 5) for n, w in zip(NAMES, weights, strict=True)} for unit, weights in by_unit.items()}


def cross_validated(pools: Sequence[Pool], groups: Sequence[object], used: Fusion, plain: Doubles, seed: int) -> Difference:
    """Return the gain of fitted weights over those ``used``, in reciprocal ranks of both units together.

    Every question is ranked by weights fitted without its group, i.e. those about the same document.
    """
    names = list(dict.fromkeys(groups))
    random.Random(seed).shuffle(names)
    folds = {name: place % FOLDS for place, name in enumerate(names)}
    before: list[float] = []
    after: list[float] = []
    for fold in range(FOLDS):
        fold_questions = [number for number, group in enumerate(groups) if folds[group] == fold]
        fitted_on = [pool for pool, group in zip(pools, groups, strict=True) if folds[group] != fold]
        if fold_questions and fitted_on:
            before += _sums(pools, fold_questions, used)
            after += _sums(pools, fold_questions, fitted_weights(fitted_on, plain))
    return paired_difference(before, after, seed)


def ranks_by_unit(pools: Sequence[Pool], numbers: Sequence[int], weights: Fusion) -> dict[Unit, list[float]]:
    """Return, for each unit, the reciprocal ranks of the answers to the questions at these places."""
    chosen = [pools[number] for number in numbers]
    joined, question_numbers = join_pools(chosen), [int(pool.question[0]) for pool in chosen]
    return {unit: reciprocal_ranks_of(joined, _array(weights[unit]), unit, question_numbers) for unit in UNITS}


def _sums(pools: Sequence[Pool], numbers: Sequence[int], weights: Fusion) -> list[float]:
    return [sum(ranks) for ranks in zip(*ranks_by_unit(pools, numbers, weights).values(), strict=True)]


def _array(weights: Mapping[str, float]) -> Doubles:
    return np.array([weights.get(name, 0.0) for name in NAMES])
