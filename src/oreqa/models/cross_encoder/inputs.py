"""Cross-encoders: the settings of their folders, and their inputs.

An input is a question and a candidate answer, alone or in its passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from oreqa.datasets.pairs import Candidate
from oreqa.errors import ModelError
from oreqa.models.fitted import Fitted, read_fitted
from oreqa.models.graph.windows import QUESTION_TOKENS, Tokens, Window, WindowInputs, token_span
from oreqa.models.names import CLASSIFIER, RERANKER, ModelFolder, folder_settings, sound_settings

Marking = Literal["alone", "marked", "appended", "unmarked"]
"""How a candidate is shown. ``alone``: without its passage. ``marked``: in its passage, between two unused vocabulary
entries. ``appended``: before its passage, in the second segment. ``unmarked``: in its passage, without saying where."""

MARKINGS: tuple[Marking, ...] = get_args(Marking)

MARKS = ("[unused0]", "[unused1]")
"""The vocabulary entries before and after a marked candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossEncoderFolder(ModelFolder):
    """The settings of a cross-encoder's folder, explained in ``CrossEncoderInputs``."""

    kind: str
    marking: Marking
    titles: bool
    closing: bool
    fitted: Fitted = field(default_factory=Fitted)

    def check_classes(self, classes: int) -> None:
        """Raise ModelError unless the weights have one output or two."""
        if classes not in (1, 2):
            raise ModelError(
                f"{self.path}: the {self.kind} has {classes} classes; it must have one output, or two (no and yes)"
            )


def read_cross_encoder_folder(path: Path, kind: str | None = None) -> CrossEncoderFolder:
    """Read the settings of a cross-encoder's folder. Raises ModelError if it is something else, or not of ``kind``."""
    with sound_settings(path):
        settings = folder_settings(path, *([kind] if kind else (CLASSIFIER, RERANKER)))
        marking = settings.oreqa.get("marking", "alone" if settings.kind == CLASSIFIER else "marked")
        if marking not in MARKINGS:
            raise ModelError(f"{path}: its setting marking is {marking!r}; it must be one of {', '.join(MARKINGS)}")
        return CrossEncoderFolder(
            **settings.folder(384),
            kind=settings.kind,
            marking=marking,
            titles=bool(settings.oreqa.get("titles", False)),
            closing=bool(settings.oreqa.get("closing", True)),
            fitted=read_fitted(path),
        )


class CrossEncoderInputs(WindowInputs):
    """Builds the windows of one cross-encoder, one per candidate, which is shown as ``marking`` says."""

    def __init__(
        self, tokenizer: Path, max_tokens: int, marking: Marking, titles: bool = True, closing: bool = True
    ) -> None:
        super().__init__(tokenizer, max_tokens, titles and marking != "alone", closing)
        self.marking = marking
        self._marks = [self.token_id(mark) for mark in MARKS] if marking == "marked" else []

    def windows(self, pairs: Sequence[tuple[str, Candidate]]) -> list[Window]:
        """Return one window per question and candidate, in order. Each distinct text is tokenised once."""
        if self.marking == "alone":
            pairs = [(question, Candidate(candidate.answer, candidate.answer)) for question, candidate in pairs]
        tokens = self.tokenize(text for question, c in pairs for text in (question, c.head, c.context))
        return [self.window(tokens[question], tokens[c.head], tokens[c.context], c.start, c.end) for question, c in pairs]

    def window(self, question: Tokens, title: Tokens | None, passage: Tokens, start: int, end: int) -> Window:
        """Return the window for the characters ``start:end`` of a passage; a long passage is cut around them."""
        first, last = token_span(passage, start, end) or (0, -1)
        answer = list(passage.ids[first : last + 1])
        appended = []
        if self.marking == "appended":
            appended = [*answer[: min(QUESTION_TOKENS, self.max_tokens // 4)], *self._between]
        front, segment = self._front(question, title, len(answer), appended, len(self._marks))
        room = self.max_tokens - len(front) - len(self._tail) - len(self._marks)
        begin = max(0, min(len(passage.ids) - room, first - max(0, room - len(answer)) // 2))
        before, after = list(passage.ids[begin:first]), list(passage.ids[last + 1 : begin + room])
        body = [*before, *self._marks[:1], *answer[:room], *self._marks[1:], *after]
        return Window(front + body + self._tail, segment, len(front), len(front) + len(body), begin)
