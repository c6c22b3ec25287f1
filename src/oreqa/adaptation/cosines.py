"""What an adapted encoder's cosines mean, so that confidence and refusals outlive an adaptation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oreqa.answering.answerer import PASSAGES_TOP_K
from oreqa.index.search import Index
from oreqa.models.fitted import COSINES, ReplacedEncoder


def compare_cosines(before: Index, after: Index, questions: Sequence[str]) -> ReplacedEncoder:
    """Match the cosines of the ``after`` index's encoder to those of the ``before`` index's by mean and standard deviation.

    Both are taken over the passages that an answer would be read from, the five best of each of the ``questions``.
    """
    first, second = _cosines(before, questions), _cosines(after, questions)
    deviations = second.std(0)
    scales = np.where(deviations > 0, first.std(0) / np.where(deviations > 0, deviations, 1), 1.0)
    offsets = first.mean(0) - scales * second.mean(0)
    by_name = (dict(zip(COSINES, map(float, row), strict=True)) for row in (scales, offsets))
    return ReplacedEncoder(before.fingerprint, *by_name)


def _cosines(index: Index, questions: Sequence[str]) -> NDArray[np.float64]:
    """``[passages that are read, 2]``: the cosines of each passage and of its best sentence."""
    rankings = index.search(questions, PASSAGES_TOP_K, "hybrid", "passage")
    return np.array([[hit.scores[name] for name in COSINES] for hits in rankings for hit in hits])
