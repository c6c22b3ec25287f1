"""The probability from which answers keep a promise: of those that are given, at least a share is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oreqa.answer import Answer
from oreqa.arguments import share as checked_share
from oreqa.errors import InputError

FEWEST_HELD_OUT = 100
"""Labelled questions, not fitted on, that a promise needs at least."""

CERTAINTY, FORGIVEN = 0.95, 3
"""How sure it is that the promise holds; and wrong answers that the first test forgives, lest one of them ends it all."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """With 95% certainty at least a ``share`` of the first answers is right whose probability is ``threshold`` or more.

    Of the ``questions`` that it was found on, ``answered`` have such an answer, and ``right`` ones a right one.

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
        """Whether an answer is kept: not if it was computed, or is shown for the sake of another version; always if people
        set it."""
        return answer.set_by_you or (answer.confidence is not None and answer.confidence >= self.threshold)


def guarantee(share: float, held_out: Sequence[tuple[float, bool]]) -> Guarantee:
    """The lowest threshold that keeps the promise, from the probabilities of first answers and whether each is right.

    The answers are taken from the likeliest on, equal ones together. From as many on as would pass with ``FORGIVEN`` wrong
    ones, a binomial test (the lower bound of Clopper & Pearson 1934) asks whether at least ``share`` of such answers is
    right. The first that says no ends the sequence, so that the tests together keep their level (fixed-sequence testing, as
    in Learn then Test, Angelopoulos et al. 2021). Given their probabilities the answers have to be independent.

    Raises InputError for fewer than ``FEWEST_HELD_OUT`` questions, and if no threshold keeps the promise.
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
    """The lower bound of the share of which ``right`` of a ``number`` were drawn."""
    from scipy.stats import beta

    return float(beta.ppf(1 - CERTAINTY, right, number - right + 1)) if right else 0.0
