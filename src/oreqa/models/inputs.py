"""What the reader reads: ``[CLS] question [SEP] title [SEP] passage [SEP]``, long passages in overlapping windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from oreqa.core import Span
from oreqa.errors import ModelError

QUESTION_TOKENS, TITLE_TOKENS = 64, 24
"""Longer questions and titles are cut, and shorter ones where the passage, or the span shown in it, would have less than
half of the window: the title first, then the question."""


MARKS = ("[unused0]", "[unused1]")
"""The vocabulary entries that stand before and after a span."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised text: ids, the characters that each token covers (``[tokens, 2]``), and the number of its word."""

    ids: Sequence[int]
    offsets: NDArray[np.int32]
    words: NDArray[np.int32]

    def edges(self, begin: int, end: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which of the tokens ``begin:end`` begin a word, and which end one."""
        changes = np.concatenate([[True], self.words[1:] != self.words[:-1], [True]])
        return changes[begin:end], changes[begin + 1 : end + 1]


@dataclass(frozen=True, slots=True)
class Window:
    """One input. Its tokens from ``first`` to the one before ``last`` are the passage's from ``begin`` on."""

    ids: list[int]
    segment: int
    first: int
    last: int
    begin: int


def load_tokenizer(path: Path) -> tuple[Tokenizer, int, int]:
    """A tokenizer that neither pads nor cuts, and its ids of [CLS] and [SEP].

    Raises ModelError if it cannot be read or is unlike BERT's.
    """
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises no other kind
        raise ModelError(f"{path}: it is not a tokenizer ({error}); copy or download it again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    special = tokenizer.encode("").ids
    if len(special) != 2:
        raise ModelError(f"{path}: it adds {len(special)} special tokens; BERT's adds [CLS] and [SEP]")
    return tokenizer, special[0], special[1]


class InputMaker:
    """Makes windows of at most ``max_tokens`` tokens, of which ``overlap`` are shared with the one before.

    ``titles`` says whether the model was trained to read titles, ``closing`` whether inputs end in [SEP].
    """

    def __init__(
        self, tokenizer: Path, max_tokens: int, overlap: int = 64, titles: bool = True, closing: bool = True
    ) -> None:
        self._tokenizer, self._cls, self._sep = load_tokenizer(tokenizer)
        self.max_tokens, self.overlap, self.titles, self.closing = max_tokens, overlap, titles, closing

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text, without special ones."""
        return [
            Tokens(encoding.ids, np.array(encoding.offsets, np.int32).reshape(-1, 2), np.array(encoding.word_ids, np.int32))
            for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]

    def token_id(self, token: str) -> int:
        """The number of a vocabulary entry. Raises ModelError if there is none."""
        number = self._tokenizer.token_to_id(token)
        if number is None:
            raise ModelError(f"the model's vocabulary has no {token}")
        return int(number)

    def windows(self, question: Tokens, title: Tokens | None, passage: Tokens) -> list[Window]:
        """Every window of a passage for one question; a passage without a token gives one window without one."""
        tail = [self._sep] if self.closing else []
        asked, named = self._cut(question, title if self.titles else None, len(tail), len(passage.ids))
        front = [self._cls, *asked, self._sep]
        segment = len(front)
        if named:
            front += [*named, self._sep]
        room = self.max_tokens - len(front) - len(tail)
        step = max(1, room - self.overlap, room // 4)
        found, begin = [], 0
        while True:
            part = list(passage.ids[begin : begin + room])
            found.append(Window(front + part + tail, segment, len(front), len(front) + len(part), begin))
            if begin + room >= len(passage.ids):
                return found
            begin += step

    def marked(self, question: Tokens, title: Tokens | None, passage: Tokens, span: Span, marking: str = "marked") -> Window:
        """One input that shows a span: between two unused vocabulary entries (``marked``), appended to the question
        (``appended``), not at all (``unmarked``), or without title and passage (``alone``). A passage that is too long is
        cut around the span."""
        first, last = token_span(passage, span.start, span.end) or (0, -1)
        answer = list(passage.ids[first : last + 1])
        alone = marking == "alone"
        appended = [*answer[: min(QUESTION_TOKENS, self.max_tokens // 4)], self._sep] if marking == "appended" else []
        tail = [self._sep] if self.closing else []
        marks = [[self.token_id(MARKS[0])], [self.token_id(MARKS[1])]] if marking == "marked" else [[], []]
        others = len(appended) + len(tail) + len(marks[0]) + len(marks[1])
        asked, named = self._cut(question, title if self.titles and not alone else None, others, len(answer))
        front = [self._cls, *asked, self._sep]
        segment = len(front)
        front += appended
        if named:
            front += [*named, self._sep]
        room = self.max_tokens - len(front) - len(tail) - len(marks[0]) - len(marks[1])
        begin = max(0, min(len(passage.ids) - room, first - max(0, room - len(answer)) // 2))
        before, after = ([], []) if alone else (passage.ids[begin:first], passage.ids[last + 1 : begin + room])
        body = [*before, *marks[0], *answer[:room], *marks[1], *after]
        return Window(front + body + tail, segment, len(front), len(front) + len(body), begin)

    def _cut(self, question: Tokens, title: Tokens | None, others: int, shown: int) -> tuple[list[int], list[int]]:
        """The ids of question and title that leave room for ``others``, and for ``shown`` tokens or half of the window."""
        asked = list(question.ids[:QUESTION_TOKENS])
        named = [] if title is None else list(title.ids[:TITLE_TOKENS])
        spare = self.max_tokens - others - min(shown, self.max_tokens // 2) - len(asked) - 2  # for the title and its [SEP]
        return asked[: max(0, len(asked) + min(0, spare))], named[: max(0, spare - 1)]


def token_span(tokens: Tokens, start: int, end: int) -> tuple[int, int] | None:
    """First and last token of the characters ``start:end``; None if they hold no token."""
    first = int(np.searchsorted(tokens.offsets[:, 1], start, side="right"))
    last = int(np.searchsorted(tokens.offsets[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None
