"""Finds the confidence threshold above which at least a share of the answers is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oreqa.answer import Answer
from oreqa.arguments import share as checked_share
from oreqa.errors import InputError

FEWEST_HELD_OUT = 100
"""The fewest labelled questions, not used for fitting, that a guarantee needs."""

CERTAINTY, FORGIVEN = 0.95, 3
"""The certainty of the guarantee; and wrong answers that the first test allows, lest a single one ends the sequence."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """With 95% certainty at least a ``share`` of first answers with probability ``threshold`` or more is right.

    Of the ``questions`` that it was computed on, ``answered`` have such an answer, and for ``right`` of them it is right.

    Examples:
        >>> Guarantee(0.9, 0.62, questions=200, answered=80, right=78).coverage
        0.4
    """

    share: float
    threshold: float
    questions: int
    answered: int
    right: int

    @property
    def coverage(self) -> float:
        """The share of the questions that are answered."""
        return self.answered / self.questions

    def covers(self, answer: Answer) -> bool:
        """Whether an answer reaches the threshold or was set by people; not if computed or shown beside another version."""
        return answer.set_by_you or (answer.confidence is not None and answer.confidence >= self.threshold)


def guarantee(share: float, held_out: Sequence[tuple[float, bool]]) -> Guarantee:
    """Return the lowest threshold that keeps the guarantee.

    ``held_out`` has the probability of each first answer and whether it is right.

    Answers are added from the likeliest on, equal ones together. Once so many are added that ``FORGIVEN`` wrong ones would
    pass, a binomial test (the lower bound of Clopper & Pearson 1934) asks whether at least ``share`` of such answers is
    right. The first test that fails ends the sequence, so that all tests together keep their level (fixed-sequence testing,
    as in Learn then Test, Angelopoulos et al. 2021). The answers must be independent given their probabilities.

    Raises InputError for fewer than ``FEWEST_HELD_OUT`` questions, and if no threshold keeps the guarantee.
    """
    share = checked_share(share, "the share of right answers")
    if len(held_out) < FEWEST_HELD_OUT:
        raise InputError(
            f"a promise needs {FEWEST_HELD_OUT} questions about these documents that these models were not fitted on, and "
            f"there are {len(held_out)}: oreqa fit --index DIR --data FILE holds out a third of the questions in the file"
        )
    ranked = sorted((answer for answer in held_out if answer[0]), key=lambda answer: -answer[0])
    fewest = next((n for n in range(FORGIVEN, len(ranked)) if _lowest_share(n - FORGIVEN, n) >= share), len(ranked))
    best, number, right = None, 0, 0
    for number, (probability, is_right) in enumerate(ranked, 1):
        right += is_right
        is_tied = number < len(ranked) and ranked[number][0] == probability
        if number < fewest or is_tied:
            continue
        if _lowest_share(right, number) < share:
            break
        best = Guarantee(share, probability, len(held_out), number, right)
    if best is None:
        raise InputError(
            f"no probability promises {100 * share:g}% right answers here: of the {number} likeliest answers to "
            f"{len(held_out)} questions {right} are right, which promises {100 * _lowest_share(right, number):.0f}% with "
            f"{100 * CERTAINTY:g}% certainty; ask for a lower share, or fit on more questions"
        )
    return best


def _lowest_share(right: int, number: int) -> float:
    """Return the lower confidence bound of the share if ``right`` of ``number`` were right."""
    from scipy.stats import beta

    return float(beta.ppf(1 - CERTAINTY, right, number - right + 1)) if right else 0.0
