"""Build a cross-encoder's inputs: a question, and a candidate answer alone or in its passage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from oreqa.datasets.pairs import Candidate
from oreqa.models.graph.windows import QUESTION_TOKENS, Tokens, Window, WindowInputs, token_span

Marking = Literal["alone", "marked", "appended", "unmarked"]
"""How a candidate is shown. ``alone``: without its passage. ``marked``: in its passage, between two unused vocabulary
entries. ``appended``: before its passage, in the second segment. ``unmarked``: in its passage, without saying where."""

MARKINGS: tuple[Marking, ...] = get_args(Marking)

MARKS = ("[unused0]", "[unused1]")
"""The vocabulary entries before and after a marked candidate."""


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
            appended = [*answer[: min(QUESTION_TOKENS, self.max_tokens // 4)], self._sep]
        front, segment = self._front(question, title, len(answer), appended, len(self._marks))
        room = self.max_tokens - len(front) - len(self._tail) - len(self._marks)
        begin = max(0, min(len(passage.ids) - room, first - max(0, room - len(answer)) // 2))
        before, after = list(passage.ids[begin:first]), list(passage.ids[last + 1 : begin + room])
        body = [*before, *self._marks[:1], *answer[:room], *self._marks[1:], *after]
        return Window(front + body + self._tail, segment, len(front), len(front) + len(body), begin)
