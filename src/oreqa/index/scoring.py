"""One question's scores, added up, and the best of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oreqa.index.fusion import Weights

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class QuestionScores:
    """One question's scores: of sentences, and of the passages that they stand in.

    ``rows`` are the sentences' rows in the snapshot, in rising order; ``owner[i]`` is the place of sentence ``i``'s
    passage in the arrays of passages. Arrays that the search's mode leaves out are None. ``bm25_bound`` is what a
    passage's BM25 could reach for this question.
    """

    rows: NDArray[np.intp]
    owner: NDArray[np.intp]
    sentence_cosine: Scores | None = None
    passage_cosine: Scores | None = None
    sentence_bm25: Scores | None = None
    passage_bm25: Scores | None = None
    bm25_bound: float | None = None

    def total(self, weights: Weights) -> Scores:
        """The weighted sum of all parts for every sentence."""
        own = np.zeros(len(self.owner), np.float32)
        for scores, weight in (
            (self.sentence_cosine, weights.sentence_cosine),
            (self.sentence_bm25, weights.sentence_bm25),
        ):
            if scores is not None:
                own += np.float32(weight) * scores
        context: Scores | None = None
        for scores, weight in (
            (self.passage_cosine, weights.passage_cosine),
            (self.passage_bm25, weights.passage_bm25),
        ):
            if scores is not None:
                context = np.float32(weight) * scores if context is None else context + np.float32(weight) * scores
        return own if context is None else own + context[self.owner]

    def parts(self, place: int) -> dict[str, float]:
        """The raw scores of the sentence at ``place``."""
        owner = self.owner[place]
        found = {
            "sentence_cosine": self.sentence_cosine[place] if self.sentence_cosine is not None else None,
            "passage_cosine": self.passage_cosine[owner] if self.passage_cosine is not None else None,
            "sentence_bm25": self.sentence_bm25[place] if self.sentence_bm25 is not None else None,
            "passage_bm25": self.passage_bm25[owner] if self.passage_bm25 is not None else None,
            "bm25_bound": self.bm25_bound,
        }
        return {name: float(score) for name, score in found.items() if score is not None}


def best_sentences(total: Scores, k: int) -> NDArray[np.intp]:
    """Places of the ``k`` highest scores, best first; equal ones in their order, -inf left out."""
    if k < len(total):
        limit = np.partition(total, len(total) - k)[len(total) - k]
        places = np.flatnonzero((total >= limit) & (total > -np.inf))
    else:
        places = np.flatnonzero(total > -np.inf)
    return places[np.argsort(-total[places], kind="stable")][:k]


def best_passages(total: Scores, owner: NDArray[np.intp], k: int) -> list[int]:
    """Places of the best sentence of each of the ``k`` best passages, best first."""
    if not len(total):
        return []
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    ends = np.r_[starts[1:], len(owner)]
    passages = best_sentences(np.maximum.reduceat(total, starts), k)
    return [int(starts[p] + np.argmax(total[starts[p] : ends[p]])) for p in passages]
