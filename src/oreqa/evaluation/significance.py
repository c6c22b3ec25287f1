"""Whether two systems differ on the same questions: a paired randomisation test and a bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of ``b - a`` over questions, its 95% bootstrap interval, and the two-sided p-value of there being none."""

    mean: float
    low: float
    high: float
    p: float


def paired_difference(a: Sequence[float], b: Sequence[float], seed: int = 0) -> Difference:
    """Compare per-question values of two systems (Fisher's randomisation test: signs flipped at random).

    The p-value counts the observed arrangement, (1 + extreme) / (1 + resamples), so it is never 0. Raises ValueError if the
    lists differ in length or are empty.
    """
    if len(a) != len(b) or not len(a):
        raise ValueError(f"paired values are needed: {len(a)} and {len(b)} given")
    delta = np.asarray(b, float) - np.asarray(a, float)
    moved = delta[delta != 0]
    observed = float(delta.mean())
    rng = np.random.default_rng(seed)
    extreme = 0
    means = np.empty(RESAMPLES)
    step = max(1, 4_000_000 // len(delta))
    for begin in range(0, RESAMPLES, step):
        count = min(step, RESAMPLES - begin)
        signs = rng.integers(0, 2, (count, len(moved)), np.int8) * np.int8(2) - np.int8(1)
        flipped = np.abs(signs @ moved) / len(delta)
        extreme += int(np.count_nonzero(flipped >= abs(observed) - 1e-12))
        means[begin : begin + count] = delta[rng.integers(0, len(delta), (count, len(delta)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Difference(observed, float(low), float(high), (1 + extreme) / (1 + RESAMPLES))
