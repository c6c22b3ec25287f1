"""How the retrievers' scores are added up. The weights are measured; docs/results/fusion.md tells how."""

from __future__ import annotations

from dataclasses import dataclass

from oreqa.core import Mode, Unit

MODES: tuple[Mode, ...] = ("hybrid", "dense", "sparse")
UNITS: tuple[Unit, ...] = ("passage", "sentence")


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of a sentence's own cosine and BM25 and of its passage's, for one unit.

    score = sentence_cosine * cos(q, s) + passage_cosine * cos(q, p)
          + sentence_bm25 * BM25(q, s) + passage_bm25 * BM25(q, p)
    """

    sentence_cosine: float
    passage_cosine: float
    sentence_bm25: float
    passage_bm25: float

    def only(self, mode: Mode) -> Weights:
        """The same weights with what ``mode`` leaves out at zero."""
        dense, sparse = mode != "sparse", mode != "dense"
        return Weights(
            self.sentence_cosine * dense,
            self.passage_cosine * dense,
            self.sentence_bm25 * sparse,
            self.passage_bm25 * sparse,
        )


SENTENCE_WEIGHTS = Weights(1.0, 0.37, 0.019, 0.057)
PASSAGE_WEIGHTS = Weights(1.0, 0.067, 0.0192, 0.0368)
"""A passage's score is that of its best sentence under these weights."""
