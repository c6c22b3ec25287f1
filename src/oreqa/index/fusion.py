"""How retrieval scores are added up: a weight for each name, and which names a mode uses."""

from __future__ import annotations

from collections.abc import Mapping

from oreqa.core import Mode
from oreqa.errors import InputError
from oreqa.index.scores.questions import RetrievalScore

Weights = Mapping[str, float]
"""Weights of retrieval scores by their names; a score without one takes no part.

A sentence's score is the weighted sum of its own scores and of its passage's; a passage's is that of its best sentence.
"""


def plain_weights(scores: Mapping[str, RetrievalScore]) -> Weights:
    """The weights where none were fitted: each score counts about as much as any other."""
    return {name: score.plain_weight for name, score in scores.items()}


def mode_weights(weights: Weights, mode: Mode, scores: Mapping[str, RetrievalScore]) -> Weights:
    """The weights of the scores that ``mode`` uses, in the order of ``scores``; weights of 0 are left out.

    Raises InputError for a name that is no score, and if no score is left.
    """
    if unknown := sorted(weights.keys() - scores.keys()):
        raise InputError(f"there is no retrieval score {unknown[0]!r}: choose {', '.join(scores)}")
    used = {
        name: weights[name]
        for name, score in scores.items()
        if weights.get(name) and (mode == "hybrid" or score.mode == mode)
    }
    if not used:
        raise InputError(f"no retrieval score of the mode {mode} has a weight")
    return used
