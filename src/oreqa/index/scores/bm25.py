"""BM25 of a question's words in a sentence among all sentences, or in a passage among all passages."""

from __future__ import annotations

from collections.abc import Iterator

from oreqa.arrays import Floats
from oreqa.core import Unit
from oreqa.index.scores.questions import Questions, RetrievalScore

PLAIN_WEIGHT = 0.03
"""About one over the BM25 that a question of the usual length could reach, so that BM25 counts as much as a cosine."""

ROUNDING = 0.1
"""How far a sum of single precision may lie outside of what is possible."""


def bm25_score(unit: Unit) -> RetrievalScore:
    """BM25 of each ``unit``. With that of passages comes what a passage's BM25 could reach, as ``Bm25.bound``."""

    def every_score(questions: Questions) -> Iterator[Floats]:
        for ids, _ in questions.words:
            yield questions.passages.words[unit].scores(ids)

    def bounds(questions: Questions) -> Iterator[float]:
        for ids, unknown in questions.words:
            yield questions.snapshot.engine.words[unit].bound(ids, unknown)

    def limits(questions: Questions, number: int) -> tuple[float, float]:
        ids, _ = questions.words[number]
        return -ROUNDING, questions.snapshot.engine.words[unit].bound(ids, 0) + ROUNDING

    bound = ("bm25_bound", bounds) if unit == "passage" else None
    return RetrievalScore(unit, "sparse", PLAIN_WEIGHT, every_score, bound=bound, limits=limits)
