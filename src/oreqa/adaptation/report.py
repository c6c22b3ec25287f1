"""The report of an adaptation's gains, returned and saved as a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.evaluation.metrics import Difference
from oreqa.files import read_json

P_VALUE = 0.05
"""A model is better, or worse, if chance explains the difference with less than this probability."""

Significance = Callable[[Sequence[float], Sequence[float], int], Difference]
"""Tests a difference from each question's values before and after, and a seed, like ``paired_difference``."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A metric of the same questions by the model ``before`` and ``after``, in percent, and the paired ``difference``."""

    before: float
    after: float
    difference: Difference

    @classmethod
    def from_questions(cls, before: Sequence[float], after: Sequence[float], seed: int, significance: Significance) -> Gain:
        """Create it from each question's value, 0 to 1."""
        first, second = (100 * sum(values) / len(values) for values in (before, after))
        return cls(first, second, significance(before, after, seed))

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Gain:
        """Create it from the result of ``asdict``."""
        return cls(row["before"], row["after"], Difference(**row["difference"]))

    @property
    def is_certain(self) -> bool:
        """Whether the gain is significant."""
        return self.difference.mean > 0 and self.difference.p < P_VALUE

    @property
    def is_loss(self) -> bool:
        """Whether it is a significant loss."""
        return self.difference.mean < 0 and self.difference.p < P_VALUE


Compare = Callable[[Sequence[float], Sequence[float]], Gain]
"""Returns the gain from each question's values before and after."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of an adaptation.

    It measures how hybrid search finds the passages that some ``questions`` were generated from, by MRR with the index's
    encoder (``before``) and with the default one (``after``). The default encoder learned from people's questions, and
    generated ones taught it nothing more. An encoder significantly behind it on these documents has something to learn. The
    default one itself is not measured: None.
    """

    questions: int
    default: Gain | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Outlook:
        """Create it from the result of ``asdict``."""
        return cls(row["questions"], row["default"] and Gain.from_row(row["default"]))

    @property
    def expects_gain(self) -> bool:
        """Whether the encoder is significantly behind the default one."""
        return self.default is not None and self.default.is_certain


@dataclass(frozen=True, slots=True)
class AdaptationReport:
    """The size of an adaptation's data, and its gains.

    Attributes:
        folder: The new encoder's folder, inside the index's.
        passages: The number of the index's passages.
        train_questions: The number of questions for training.
        held_out_questions: The number of generated questions about held-out documents.
        held_out: The MRR of the passages that answer held-out questions, by hybrid search, with the encoder before and
            after; None if nothing was trained, because no gain was expected.
        classifier: The gain there of re-ranking by the trained classifier, if there is one, over no re-ranking and over the
            previous classifier, with the encoder that the index then uses.
        user: The metrics of the user's questions, if any.
        published: Whether the index uses the new encoder.
        seconds: The time of each stage, in all runs not killed within it.
        marks_learned: The number of marks used for training.
        marks_measured: The number of the other marks.
        marks: The MRR of the passages of the measured marks; None without marks.
        outlook: The expectation, unless it was skipped.
    """

    folder: str
    passages: int
    train_questions: int
    held_out_questions: int
    held_out: Gain | None
    classifier: Mapping[str, Gain]
    user: Mapping[str, Gain]
    published: bool
    seconds: Mapping[str, float]
    marks_learned: int = 0
    marks_measured: int = 0
    marks: Gain | None = None
    outlook: Outlook | None = None

    @classmethod
    def load(cls, file: Path) -> AdaptationReport:
        """Load it from its JSON."""
        content: dict[str, Any] = read_json(file)
        user, classifier = (_gains(content[name]) for name in ("user", "classifier"))
        held_out, marks = (content.get(name) and Gain.from_row(content[name]) for name in ("held_out", "marks"))
        outlook = content.get("outlook") and Outlook.from_row(content["outlook"])
        gains = {"held_out": held_out, "user": user, "classifier": classifier, "marks": marks}
        return cls(**{**content, **gains, "outlook": outlook})


def _gains(rows: Mapping[str, Any]) -> dict[str, Gain]:
    return {name: Gain.from_row(row) for name, row in rows.items()}
