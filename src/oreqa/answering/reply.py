"""The reply to a question: its answers, or what comes nearest to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oreqa.answer import Answer
from oreqa.as_json import hit_json
from oreqa.core import Hit
from oreqa.notebook import hit_html, note_html

NEAREST_TOP_K = 3
"""Passages shown in place of an answer."""

MIN_GUESS = 0.05
"""The lowest confidence at which a refused answer is still worth showing."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answers to one question, or, if there are none, the best ``guess`` and the ``nearest`` passages.

    Attributes:
        answers: The answers, best first.
        hits: The best hits of the search, from which the answers come.
        calibrated: Whether answers have a confidence. Without one, they are refused only if no passage contains an
            identifier that the question names.
        best: The first answer before the passages were re-ranked, even if refused.
        respelt: Words of the question that no document contains, with the words searched in their place.
        generation: The number of the index state that answered.
        threshold: The lowest confidence of an answer.
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
        """The best answer if it was refused with a confidence of at least ``MIN_GUESS``; None if there are answers."""
        return self.best if not self.answers and self.best and (self.best.confidence or 0.0) >= MIN_GUESS else None

    @property
    def nearest(self) -> list[Hit]:
        """The best distinct passages, each with its best sentence."""
        best: dict[int, Hit] = {}
        for hit in self.hits:
            best.setdefault(hit.passage_id, hit)
        return list(best.values())[:NEAREST_TOP_K]

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as ``oreqa ask --json`` prints it, without the question.

        It has the answers, or else the best guess and the nearest passages.
        """
        row: dict[str, Any] = {
            "found": bool(self.answers),
            "calibrated": self.calibrated,
            "answers": [answer.to_dict() for answer in self.answers],
            "respelt": dict(self.respelt),
        }
        if self.guess is not None:
            row["guess"] = self.guess.to_dict()
        return row if self.answers else {**row, "nearest": self._nearest_rows()}

    def _nearest_rows(self) -> list[dict[str, Any]]:
        return [hit_json(rank, hit) for rank, hit in enumerate(self.nearest, 1)]

    def _repr_html_(self) -> str:
        """The reply in a notebook: the answers, or that there are none, with the best guess and the nearest passages."""
        lines = [note_html(f"“{word}” is in no document; asked for “{new}”.") for word, new in self.respelt.items()]
        lines += [answer._repr_html_() for answer in self.answers]
        if not self.answers:
            guess, hits = self.guess, list(zip(self._nearest_rows(), self.nearest, strict=True))
            lines.append(note_html("The documents may not answer this. Best guess:" if guess else "No answer found."))
            lines += [guess._repr_html_()] if guess else []
            hits = [(row, hit) for row, hit in hits if guess is None or hit.passage != guess.passage]
            lines += [note_html("The nearest passages:")] if hits else []
            lines += [hit_html(row, hit.passage.address(hit.sentence.start)) for row, hit in hits]
        return "".join(lines)
