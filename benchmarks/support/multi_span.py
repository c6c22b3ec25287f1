"""Exact-match and partial-match F1 of answers with several spans, as defined by MultiSpanQA (Li et al., NAACL 2022,
section 5), and the difference between two systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from oreqa.text.answers import normalize_answer

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a question: distinct predicted spans, distinct right spans, spans equal after normalisation, and the
    summed partial scores of the predicted and of the right spans."""

    predicted: int
    gold: int
    exact: int
    precise: float
    covered: float


def counts(predicted: Sequence[str], gold: Sequence[str]) -> Counts:
    """Return the counts of a question.

    The partial score of a predicted span is the longest substring that it shares with a right one, as a share of its own
    length; that of a right span, as a share of the right one's. Each uses its best partner.
    """
    spans, golds = (sorted({normalize_answer(text) for text in texts} - {""}) for texts in (predicted, gold))
    shared = np.array([[_shared(span, right) for right in golds] for span in spans]).reshape(len(spans), len(golds))
    precise = sum(row.max(initial=0) / len(span) for row, span in zip(shared, spans, strict=True))
    covered = sum(row.max(initial=0) / len(right) for row, right in zip(shared.T, golds, strict=True))
    return Counts(len(spans), len(golds), len({*spans} & {*golds}), float(precise), float(covered))


def _shared(a: str, b: str) -> int:
    return SequenceMatcher(None, a, b, autojunk=False).find_longest_match().size


def f1_scores(rows: Sequence[Counts]) -> dict[str, float]:
    """Return micro-averaged precision, recall and F1 in percent, of equal spans (``em``) and of parts (``partial``)."""
    sums = _table(rows).sum(axis=0)
    return {name: round(value, 1) for name, value in zip(_NAMES, _scores(sums[None])[0].tolist(), strict=True)}


def f1_difference(a: Sequence[Counts], b: Sequence[Counts], seed: int = 0) -> dict[str, tuple[float, float, float]]:
    """Return how much ``b`` gains over ``a`` on the same questions, in percent, with its 95% bootstrap interval."""
    before, after = _table(a), _table(b)
    rng = np.random.default_rng(seed)
    times = rng.multinomial(len(a), np.full(len(a), 1 / len(a)), RESAMPLES)
    resampled = _scores(times @ after) - _scores(times @ before)
    observed = _scores(after.sum(axis=0)[None])[0] - _scores(before.sum(axis=0)[None])[0]
    low, high = np.quantile(resampled, (0.025, 0.975), axis=0)
    values = zip(_NAMES, observed.tolist(), low.tolist(), high.tolist(), strict=True)
    return {name: (round(mean, 1), round(least, 1), round(most, 1)) for name, mean, least, most in values if "f1" in name}


_NAMES = ("em_precision", "em_recall", "em_f1", "partial_precision", "partial_recall", "partial_f1")


def _table(rows: Sequence[Counts]) -> NDArray[np.float64]:
    return np.array([[row.predicted, row.gold, row.exact, row.precise, row.covered] for row in rows], float)


def _scores(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores ``[n, 6]`` of summed counts ``[n, 5]``."""
    predicted, gold, exact, precise, covered = np.maximum(sums, 1e-12).T
    columns = []
    for right, reached in ((exact, exact), (precise, covered)):
        precision, recall = right / predicted, reached / gold
        columns += [precision, recall, 2 * precision * recall / (precision + recall)]
    return 100 * np.stack(columns, axis=1)
