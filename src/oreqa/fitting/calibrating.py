"""Fits the probability that an answer is right: logistic regression, the threshold, and their quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from oreqa.arrays import Doubles, Flags
from oreqa.evaluation.metrics import calibration_error, coverage, roc_area
from oreqa.models.fitted import Calibration

THRESHOLDS = np.linspace(0.01, 0.8, 80)
"""Thresholds tried."""

PENALTY, PRIOR = 1e-4, 0.5
"""Weights in the loss of the squared weights, and, divided by the number of answers, of those of standardised features."""


@dataclass(frozen=True, slots=True)
class JudgedAnswers:
    """The best answers to a set of questions: features ``x``, ``[answers, features]``, and labels.

    The labels are whether each is ``right``, and whether its question is ``answerable``.
    """

    x: Doubles
    right: Flags
    answerable: Flags


def fit_logistic(sets: Sequence[JudgedAnswers]) -> tuple[Doubles, float]:
    """Return the weights and the bias of the logistic regression of ``right``, with equal weight for every set.

    The loss is the mean negative log-likelihood, plus ``PENALTY`` times the squared weights, plus ``PRIOR`` divided by
    the number of answers times the squared weights of the standardised features, like scikit-learn's with C = 1: few
    answers move the weights little. Answers that are all right, or all wrong, say nothing about the features: the
    weights are 0, and the bias gives the share by Laplace's rule.
    """
    x, right = np.concatenate([answers.x for answers in sets]), np.concatenate([answers.right for answers in sets])
    if right.all() or not right.any():
        return np.zeros(x.shape[1]), float(np.log((right.sum() + 1) / ((~right).sum() + 1)))
    mean, scale = x.mean(0), x.std(0)
    scale[scale < 1e-9 * (1 + np.abs(mean))] = np.inf  # a constant feature tells nothing
    scaled = [((answers.x - mean) / scale, answers.right.astype(np.float64)) for answers in sets]
    penalty = PENALTY / scale**2 + PRIOR / len(x)

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        weights, bias = parameters[:-1], parameters[-1]
        value, slope = 0.0, np.zeros_like(parameters)
        for features, labels in scaled:
            logit = features @ weights + bias
            value += float(np.mean(np.logaddexp(0, logit) - labels * logit))
            push = (_sigmoid(logit) - labels) / len(logit)
            slope += np.r_[features.T @ push, push.sum()]
        value, slope = value / len(sets), slope / len(sets)
        return value + float(penalty @ weights**2), slope + np.r_[2 * penalty * weights, 0.0]

    parameters = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, tol=1e-7).x
    weights: Doubles = parameters[:-1] / scale
    return weights, float(parameters[-1] - weights @ mean)


def fit_calibration(
    names: Sequence[str], sets: Sequence[JudgedAnswers], threshold_sets: Sequence[JudgedAnswers] = ()
) -> Calibration:
    """Return the rounded calibration of the named features; ``threshold_sets``, or ``sets``, choose its threshold."""
    weights, bias = fit_logistic(sets)
    rounded = {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}
    return Calibration(rounded, round(bias, 3), right_threshold(threshold_sets or sets, weights, bias))


def probabilities(answers: JudgedAnswers, weights: Doubles, bias: float) -> Doubles:
    """Return the probability of each answer, ``[answers]``."""
    return _sigmoid(answers.x @ weights + bias)


def _sigmoid(logits: Doubles) -> Doubles:
    return np.asarray(np.exp(-np.logaddexp(0, -logits)))


def answerable_threshold(sets: Sequence[JudgedAnswers], weights: Doubles, bias: float) -> float:
    """Return the threshold with the best mean of: answering answerable questions, refusing the others."""
    return _best_threshold([(probabilities(answers, weights, bias), answers.answerable) for answers in sets])


def right_threshold(sets: Sequence[JudgedAnswers], weights: Doubles, bias: float) -> float:
    """Return the threshold with the best mean of: giving right answers, withholding the others."""
    return _best_threshold([(probabilities(answers, weights, bias), answers.right) for answers in sets])


def _best_threshold(sets: Sequence[tuple[Doubles, Flags]]) -> float:
    """Return the threshold with the best mean of two shares: of wanted answers above it, and of the others below.

    The share of an empty set counts as 1.
    """
    total = np.zeros(len(THRESHOLDS))
    for p, wanted in sets:
        shown = p >= THRESHOLDS[:, None]
        shares = (shown[:, wanted], ~shown[:, ~wanted])
        total += sum(share.mean(1) if share.shape[1] else 1.0 for share in shares) / 2
    return round(float(THRESHOLDS[np.argmax(total)]), 3)


def calibration_summary(p: Doubles, answers: JudgedAnswers, threshold: float) -> dict[str, float]:
    """Return the AUC of separating answerable questions, calibration error, and the threshold's effect, in percent."""
    shown, answerable = p >= threshold, answers.answerable
    shares = {
        "auc answerable": roc_area(p, answerable),
        "auc right": roc_area(p, answers.right),
        "expected calibration error": calibration_error(p, answers.right),
        "abstains, unanswerable": _share(~shown[~answerable]),
        "answers, answerable": _share(shown[answerable]),
        "right of answerable, all": _share(answers.right[answerable]),
        "right of given": _share(answers.right[shown]),
        "coverage at 80% right": coverage(p, answers.right, 0.8),
    }
    return {"questions": len(p), **{name: round(100 * share, 2) for name, share in shares.items()}}


def _share(flags: Flags) -> float:
    return float(flags.mean()) if len(flags) else 0.0
