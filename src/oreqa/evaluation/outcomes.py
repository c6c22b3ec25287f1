"""The outcomes of a regression test's questions, and what changed since the baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Outcome = Literal["right", "rightly refused", "wrong", "refused"]
"""A question with an answer in the documents is answered right, wrong, or refused; one without an answer is rightly refused,
or answered, which is wrong."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

_PASSING: tuple[Outcome, ...] = OUTCOMES[:2]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its ``expected`` answers, none if the documents have none, and its outcome.

    ``answer`` is the first answer as shown by ``oreqa ask``, or the best guess for a refused question, with its
    ``place`` and ``confidence``; empty if there is none. ``before`` and ``answer_before`` are those of the baseline,
    None and empty if it lacks the question.
    """

    id: str
    question: str
    expected: tuple[str, ...]
    outcome: Outcome
    answer: str
    place: str
    confidence: float | None
    before: Outcome | None
    answer_before: str

    @property
    def passes(self) -> bool:
        """Whether it is answered right, or rightly refused."""
        return self.outcome in _PASSING

    @property
    def given_answer(self) -> str:
        """The answer that was given; empty for a refusal."""
        return "" if self.outcome.endswith("refused") else self.answer

    @property
    def is_worse(self) -> bool:
        """Whether it passed in the baseline but does not now."""
        return self.before in _PASSING and not self.passes

    @property
    def is_better(self) -> bool:
        """Whether it did not pass in the baseline but does now."""
        return self.before is not None and self.before not in _PASSING and self.passes


@dataclass(frozen=True, slots=True)
class RegressionReport:
    """The ``questions`` of a file, asked now, against the ``baseline``, which this run replaced if it ``is_saved``.

    ``is_first`` says that there was no baseline. ``dropped`` questions are in the baseline but not in the file. The test
    ``passed`` if no question is worse than in the baseline; with a ``minimum``, if at least that share of them passes.
    """

    questions: tuple[AskedQuestion, ...]
    baseline: str
    is_first: bool
    is_saved: bool
    dropped: int
    minimum: float | None
    seconds: float

    @property
    def passing(self) -> int:
        """How many questions are answered right, or rightly refused."""
        return sum(question.passes for question in self.questions)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many questions have each outcome."""
        counts = Counter(question.outcome for question in self.questions)
        return {outcome: counts[outcome] for outcome in OUTCOMES}

    @property
    def passed(self) -> bool:
        """Whether the test passed: a run saved on purpose is not compared."""
        if self.minimum is not None:
            return self.passing >= self.minimum * len(self.questions) - 1e-9
        return self.is_saved or not any(question.is_worse for question in self.questions)

    @property
    def failures(self) -> tuple[AskedQuestion, ...]:
        """Return the questions that fail the test: those that are worse, or with a ``minimum`` all that do not pass."""
        if self.passed:
            return ()
        return tuple(row for row in self.questions if row.is_worse or (self.minimum is not None and not row.passes))


def changes(questions: Sequence[AskedQuestion]) -> Mapping[str, list[AskedQuestion]]:
    """Return the changes, worst first: worse questions, new ones that fail, ones failing differently, and better ones."""
    groups: dict[str, list[AskedQuestion]] = {"worse": [], "new": [], "otherwise": [], "better": []}
    for question in questions:
        if question.is_worse:
            groups["worse"].append(question)
        elif question.is_better:
            groups["better"].append(question)
        elif not question.passes and question.before is None:
            groups["new"].append(question)
        elif not question.passes and (question.before, question.answer_before) != (question.outcome, question.given_answer):
            groups["otherwise"].append(question)
    return groups
