"""The cosine of a question's vector and that of a sentence or passage."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oreqa.arrays import Floats
from oreqa.core import Unit
from oreqa.index.engines.engine import BLOCK_SCORES
from oreqa.index.scores.questions import Questions, RetrievalScore
from oreqa.index.snapshot import Snapshot


def cosine_score(unit: Unit, block: int = BLOCK_SCORES) -> RetrievalScore:
    """Score by the inner product of a question's vector and each ``unit``'s, their cosine if the encoder normalises.

    Questions are processed in groups of about ``block`` scores.
    """

    def every_score(questions: Questions) -> Iterator[Floats]:
        stored = questions.passages.vectors[unit]
        size = max(1, block // max(len(stored), 1))
        for begin in range(0, len(questions.texts), size):
            yield from stored.inner_products(questions.vectors[begin : begin + size])

    def limits(questions: Questions, number: int) -> tuple[float, float]:
        most = float(np.linalg.norm(questions.vectors[number])) * questions.passages.norm_limits(unit)[1]
        return -most, most

    def scale(snapshot: Snapshot) -> float:
        return snapshot.square_norms[unit]

    return RetrievalScore(unit, "dense", 1.0, every_score, scale=scale, limits=limits)
