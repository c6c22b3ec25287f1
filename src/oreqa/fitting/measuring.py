"""Measures weights and a calibration on questions that were not used for fitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oreqa.arrays import Doubles, Flags
from oreqa.evaluation.metrics import Bin, Difference, calibration, calibration_error, roc_area
from oreqa.models.fitted import Calibration

CERTAIN = 0.05
"""A gain over what was fitted before counts if chance explains it with less than this probability."""


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """The first answer to a question: its features, none if there is no answer, and whether it is ``right``."""

    answerable: bool
    right: bool
    features: Mapping[str, float] | None

    def probability(self, of: Calibration) -> float:
        """Return the probability that it is right; 0 without an answer."""
        return 0.0 if self.features is None else of.probability(self.features)


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of the held-out questions, in percent.

    ``right`` first answers to the answerable ones, the ``mrr`` of the passages (sentences without a reader) that answer
    them, and ``constant_brier``, the Brier score of one probability for all answers, the share that is right: no other
    constant is better.

    The others need a calibration: ``brier``, the mean squared distance of the probability from 0 or 1; ``ece``;
    ``auc_right`` and ``auc_answerable``, None if there is only one class; and the threshold's effect: ``decided``, right
    answers, and refusals where there is none, ``answered``, of the answerable questions, and ``refused``, of the others.
    """

    right: float
    mrr: float
    constant_brier: float
    brier: float | None = None
    ece: float | None = None
    auc_right: float | None = None
    auc_answerable: float | None = None
    decided: float | None = None
    answered: float | None = None
    refused: float | None = None
    bins: Sequence[Bin] = ()


def measure_answers(answers: Sequence[FirstAnswer], ranks: Sequence[float], fitted: Calibration | None) -> Measures:
    """Measure first answers; ``ranks`` are the reciprocal ranks of what answers the answerable questions."""
    right, answerable = (np.array([getattr(answer, name) for answer in answers], bool) for name in ("right", "answerable"))
    right_share, mrr = _percent(right[answerable]), 100 * float(np.mean(ranks)) if len(ranks) else 0.0
    constant = 100 * float(np.mean(squared_errors(answers, None)))
    if fitted is None:
        return Measures(round(right_share, 2), round(mrr, 2), round(constant, 2))
    p = np.array([answer.probability(fitted) for answer in answers])
    shown = (p >= fitted.threshold) & np.array([answer.features is not None for answer in answers])
    values = {
        "right": right_share,
        "mrr": mrr,
        "constant_brier": constant,
        "brier": 100 * float(np.mean((p - right) ** 2)),
        "ece": 100 * calibration_error(p, right),
        "auc_right": _area(p, right),
        "auc_answerable": _area(p, answerable),
        "decided": _percent(np.where(shown, right, ~answerable)),
        "answered": _percent(shown[answerable]),
        "refused": _percent(~shown[~answerable]) if not answerable.all() else None,
    }
    rounded = {name: None if value is None else round(value, 2) for name, value in values.items()}
    return Measures(**rounded, bins=calibration(p, right))  # type: ignore[arg-type]


def _percent(flags: Flags) -> float:
    return 100 * float(flags.mean()) if len(flags) else 0.0


def _area(p: Doubles, labels: Flags) -> float | None:
    return 100 * roc_area(p, labels) if 0 < labels.sum() < len(labels) else None


def squared_errors(answers: Sequence[FirstAnswer], fitted: Calibration | None) -> list[float]:
    """Return the squared distance of each answer's probability from 0 or 1.

    Without a calibration, every answer has the same probability, the share of these answers that is right.
    """
    share = float(np.mean([answer.right for answer in answers]))
    p = [share if fitted is None else answer.probability(fitted) for answer in answers]
    return [(value - answer.right) ** 2 for value, answer in zip(p, answers, strict=True)]


def is_better(gain: Difference, fitted_before: bool) -> bool:
    """Return whether a gain suffices for replacement: any over plain weights, a significant one over fitted ones."""
    return gain.mean > 0 and (gain.p < CERTAIN or not fitted_before)
