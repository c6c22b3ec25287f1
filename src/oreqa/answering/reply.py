"""What a question is answered with: the answers, or what comes nearest to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oreqa.answer import Answer
from oreqa.core import Hit

NEAREST_TOP_K = 3
"""Passages that are shown in place of an answer."""

MIN_GUESS = 0.05
"""The lowest confidence of a refused answer that is still worth showing."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answers to one question, best first, and the best ``hits`` of the search, from which they come.

    Without answers, ``nearest`` holds the best passages, and ``guess`` the answer that is too unlikely to be given. Answers
    that are not ``calibrated`` have no confidence, and are refused only if no passage holds an identifier that the question
    names. ``best`` is the first answer before the passages were re-ranked, even if it is refused. ``respelt`` has the words
    of the question that no document holds, each with the word there that was asked for in its place. ``generation`` is the
    number of the state of the index that answered. ``threshold`` is the lowest confidence of an answer.
    """

    answers: tuple[Answer, ...]
    hits: tuple[Hit, ...]
    calibrated: bool = True
    best: Answer | None = None
    respelt: Mapping[str, str] = field(default_factory=dict)
    generation: int = 0
    threshold: float = 0.0

    @property
    def guess(self) -> Answer | None:
        """The best answer if it was refused but has ``MIN_GUESS`` or more; None otherwise, and if there are answers."""
        return self.best if not self.answers and self.best and (self.best.confidence or 0.0) >= MIN_GUESS else None

    @property
    def nearest(self) -> list[Hit]:
        """The best passages, each once, with its best sentence."""
        best: dict[int, Hit] = {}
        for hit in self.hits:
            best.setdefault(hit.passage_id, hit)
        return list(best.values())[:NEAREST_TOP_K]
