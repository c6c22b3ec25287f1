"""How retrieval scores are added up: a weight for each name, and which names a mode uses."""

from __future__ import annotations

import math
from collections.abc import Mapping

from oreqa.arguments import choice
from oreqa.core import UNITS, Mode, Unit
from oreqa.errors import InputError
from oreqa.index.scores.questions import RetrievalScore

Weights = Mapping[str, float]
"""Weights of retrieval scores by their names; a score without one takes no part.

A sentence's score is the weighted sum of its own scores and of its passage's; a passage's is that of its best sentence.
"""


def plain_weights(scores: Mapping[str, RetrievalScore]) -> Weights:
    """The weights where none were fitted: each score counts about as much as any other."""
    return {name: score.plain_weight for name, score in scores.items()}


def check_weights(weights: Mapping[Unit, Weights], scores: Mapping[str, RetrievalScore]) -> None:
    """Raise InputError for weights of a unit or a score that does not exist, and for what is not a finite number."""
    for unit, by_name in weights.items():
        choice(unit, UNITS, "unit")
        for name, weight in by_name.items():
            choice(name, scores, "retrieval score")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise InputError(f"the weight of {name} is {weight!r}; it must be a finite number")
        mode_weights(by_name, "hybrid", scores)


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
