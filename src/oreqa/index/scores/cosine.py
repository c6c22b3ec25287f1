"""The cosine of a question's vector and a sentence's, or a passage's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from oreqa.arrays import Flags, Floats, Rows
from oreqa.core import Unit
from oreqa.index.dense import BLOCK_SCORES, FaissVectors
from oreqa.index.scores.questions import CANDIDATES, Approximate, Questions, RetrievalScore
from oreqa.index.snapshot import Snapshot


def cosine_score(unit: Unit, block: int = BLOCK_SCORES) -> RetrievalScore:
    """The inner product of a question's vector and each ``unit``'s, which is their cosine if the encoder normalises.

    Questions are multiplied so many at a time that about ``block`` scores are held at once.
    """

    def every_score(questions: Questions) -> Iterator[Floats]:
        snapshot = questions.snapshot
        size = max(1, block // len(snapshot.sentence_ids))
        for begin in range(0, len(questions.texts), size):
            yield from snapshot.inner_products(questions.vectors[begin : begin + size], unit)

    def candidates(questions: Questions, allowed: Flags | None) -> Iterator[Rows]:
        snapshot = questions.snapshot
        stored, ids = snapshot.vectors[unit], snapshot.ids(unit)
        rows = None if allowed is None else snapshot.rows(unit, allowed)
        if not isinstance(stored, FaissVectors):  # vectors too few to be indexed: all of them are candidates
            yield from repeat(np.arange(len(ids)) if rows is None else rows, len(questions.texts))
            return
        chosen = None if rows is None else np.ascontiguousarray(ids[rows])
        for nearest in stored.search(questions.vectors, CANDIDATES, chosen):
            yield np.searchsorted(ids, nearest[nearest >= 0])

    def score_rows(questions: Questions, number: int, rows: Rows) -> Floats:
        snapshot = questions.snapshot
        scores: Floats = snapshot.vectors[unit].vectors(snapshot.ids(unit)[rows]) @ questions.vectors[number]
        return scores

    def limits(questions: Questions, number: int) -> tuple[float, float]:
        most = float(np.linalg.norm(questions.vectors[number])) * questions.snapshot.norm_limits(unit)[1]
        return -most, most

    def scale(snapshot: Snapshot) -> float:
        return snapshot.square_norms[unit]

    approximate = Approximate(candidates, score_rows)
    return RetrievalScore(unit, "dense", 1.0, every_score, approximate, scale=scale, limits=limits)
