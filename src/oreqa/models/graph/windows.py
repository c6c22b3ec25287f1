"""Token windows, the inputs of readers and cross-encoders: a question and a passage, joined as by the tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers.pre_tokenizers import BertPreTokenizer

from oreqa.core import Range
from oreqa.errors import ModelError
from oreqa.models.graph.session import Batch, batches_by_length
from oreqa.models.graph.tokenizer import load_tokenizer, read_template

QUESTION_TOKENS, TITLE_TOKENS = 64, 24
"""Maximum lengths of questions and titles. They are truncated further, titles first, if less than half of the window would
remain for the passage, or for the span to be shown in it."""

Text = tuple[str, str]
"""A passage's title and text."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised text: ids, end-exclusive character offsets (``[tokens, 2]``) and word numbers (``[tokens]``)."""

    ids: Sequence[int]
    offsets: NDArray[np.int32]
    words: NDArray[np.int32]

    def edges(self, begin: int, end: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return two masks over the tokens ``begin:end``: those that begin a word, and that end one; blanks do neither."""
        changes = np.concatenate([[True], self.words[1:] != self.words[:-1], [True]])
        is_text = self.offsets[begin:end, 0] < self.offsets[begin:end, 1]
        return changes[begin:end] & is_text, changes[begin + 1 : end + 1] & is_text

    def begin_in(self, stretch: Range, begin: int, end: int) -> NDArray[np.bool_]:
        """Return a mask over the tokens ``begin:end``: those that begin in a range of characters."""
        starts = self.offsets[begin:end, 0]
        inside: NDArray[np.bool_] = (stretch[0] <= starts) & (starts < stretch[1])
        return inside


@dataclass(frozen=True, slots=True)
class Window:
    """One input. Its tokens ``first:last`` are the passage's tokens from ``begin`` on.

    The second segment begins at ``segment``, after the last token if the tokenizer has only one segment.
    """

    ids: list[int]
    segment: int
    first: int
    last: int
    begin: int


class WindowInputs:
    """Builds the windows of one model, of at most ``max_tokens`` tokens.

    ``titles`` says whether the model was trained with titles, ``closing`` whether its inputs end in special tokens.
    ``separators`` is the number of separators between two texts in its training; None for all of the tokenizer's.
    Raises ModelError for a tokenizer that is damaged.
    """

    def __init__(self, tokenizer: Path, max_tokens: int, titles: bool, closing: bool, separators: int | None = None) -> None:
        self.tokenizer = load_tokenizer(tokenizer)
        template = read_template(self.tokenizer, tokenizer)
        self._start, self._between, self._segments = template.front, template.between[:separators], template.segments
        self._tail = template.tail if closing else []
        self.max_tokens, self.titles = max_tokens, titles

    def tokenize(self, texts: Iterable[str]) -> dict[str, Tokens]:
        """Return the tokens of each distinct text, without special tokens."""
        distinct = list(dict.fromkeys(texts))
        encodings = self.tokenizer.encode_batch(distinct, add_special_tokens=False)
        splits_words = isinstance(self.tokenizer.pre_tokenizer, BertPreTokenizer)
        tokens = {}
        for text, e in zip(distinct, encodings, strict=True):
            offsets = np.array(e.offsets, np.int32).reshape(-1, 2)
            if splits_words:
                tokens[text] = Tokens(e.ids, offsets, np.array(e.word_ids, np.int32))
            else:
                offsets = _without_blanks(text, offsets)
                tokens[text] = Tokens(e.ids, offsets, _word_numbers(text, offsets))
        return tokens

    def token_id(self, token: str) -> int:
        """Return the id of a vocabulary entry. Raises ModelError if there is none."""
        number = self.tokenizer.token_to_id(token)
        if number is None:
            raise ModelError(f"the model's vocabulary has no {token}")
        return int(number)

    def _front(
        self, question: Tokens, title: Tokens | None, shown: int, appended: Sequence[int] = (), extra: int = 0
    ) -> tuple[list[int], int]:
        """Return ``[CLS] question [SEP]`` followed by ``appended`` and ``title [SEP]``, and where the second segment begins.

        Question and title are truncated to leave space for ``extra`` tokens and for ``shown`` tokens or half of the window,
        whichever is less.
        """
        question_ids = list(question.ids[:QUESTION_TOKENS])
        title_ids = list(title.ids[:TITLE_TOKENS]) if title is not None and self.titles else []
        ends = len(self._start) + len(self._between) + len(self._tail)
        reserved = len(appended) + ends + extra + min(shown, self.max_tokens // 2)
        spare = self.max_tokens - reserved - len(question_ids)  # for the title and what follows it
        question_ids = question_ids[: max(0, len(question_ids) + min(0, spare))]
        title_ids = title_ids[: max(0, spare - len(self._between))]
        first_segment = [*self._start, *question_ids, *self._between]
        second_segment = [*appended, *([*title_ids, *self._between] if title_ids else [])]
        return first_segment + second_segment, len(first_segment) if self._segments else self.max_tokens

    def _slide(self, front: list[int], segment: int, passage: Tokens, overlap: int) -> list[Window]:
        """Return the windows of a passage after ``front``; consecutive ones share up to ``overlap`` tokens.

        An empty passage gives one empty window.
        """
        room = self.max_tokens - len(front) - len(self._tail)
        step = max(1, room - overlap, room // 4)
        windows, begin = [], 0
        while True:
            ids = list(passage.ids[begin : begin + room])
            windows.append(Window(front + ids + self._tail, segment, len(front), len(front) + len(ids), begin))
            if begin + room >= len(passage.ids):
                return windows
            begin += step


def padded_windows(windows: Sequence[Window]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ids, mask and token types of windows, padded with 0: ``[windows, tokens]`` int64 each.

    Padding comes last and is masked, so its id does not matter: it is 0 for every vocabulary.
    """
    tokens = max((len(window.ids) for window in windows), default=0)
    ids, mask, types = (np.zeros((len(windows), tokens), np.int64) for _ in range(3))
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size], mask[row, :size], types[row, window.segment : size] = window.ids, 1, 1
    return ids, mask, types


def window_batches(windows: Sequence[Window]) -> Iterator[Batch]:
    """Yield the windows in padded batches of similar length."""
    for chosen in batches_by_length([len(window.ids) for window in windows]):
        yield Batch(padded_windows([windows[i] for i in chosen]), chosen)


def token_span(tokens: Tokens, start: int, end: int) -> tuple[int, int] | None:
    """Return the first and last token (inclusive) of the characters ``start:end``; None if they contain no token."""
    first = int(np.searchsorted(tokens.offsets[:, 1], start, side="right"))
    last = int(np.searchsorted(tokens.offsets[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None


_WORD = re.compile(
    "[^\\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[\u0300-\u036f]"
)
"""Characters of words; not of scripts written without spaces, where each token counts as a word."""


def _word_numbers(text: str, offsets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the word number of each token, by its characters ``[tokens, 2]``: a word continues while letters or digits do.

    Tokenizers other than BERT's may take everything between two blanks, including a full stop, or a whole sentence as a
    word.
    """
    changes = np.ones(len(offsets), np.int32)
    for i, ((begin, end), (start, stop)) in enumerate(pairwise(offsets.tolist()), 1):
        touches = begin < end == start < stop and _WORD.match(text[end - 1]) and _WORD.match(text[start])
        changes[i] = not touches and start >= end  # overlapping tokens are bytes of one character
    return changes.cumsum(dtype=np.int32)


def _without_blanks(text: str, offsets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the tokens' characters without leading blanks, which some tokenizers include in a word."""
    for i, (start, end) in enumerate(offsets.tolist()):
        if text[start : start + 1].isspace():
            offsets[i, 0] = end - len(text[start:end].lstrip())
    return offsets
