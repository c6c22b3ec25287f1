"""Token windows, the inputs of readers and cross-encoders: a question and a passage as BERT's two segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from oreqa.errors import ModelError
from oreqa.models.graph.session import Batch, batches_by_length

QUESTION_TOKENS, TITLE_TOKENS = 64, 24
"""Maximum lengths of questions and titles. They are cut further, the title first, if less than half of the window would be
left for the passage, or for the span to be shown in it."""

Text = tuple[str, str]
"""A passage's title and text."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised text: ids, end-exclusive character offsets (``[tokens, 2]``) and word numbers (``[tokens]``)."""

    ids: Sequence[int]
    offsets: NDArray[np.int32]
    words: NDArray[np.int32]

    def edges(self, begin: int, end: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return two masks over the tokens ``begin:end``: those that begin a word, and those that end one."""
        changes = np.concatenate([[True], self.words[1:] != self.words[:-1], [True]])
        return changes[begin:end], changes[begin + 1 : end + 1]


@dataclass(frozen=True, slots=True)
class Window:
    """One input. Its tokens ``first:last`` are the passage's tokens from ``begin`` on; the second segment begins at
    ``segment``."""

    ids: list[int]
    segment: int
    first: int
    last: int
    begin: int


def load_tokenizer(path: Path) -> tuple[Tokenizer, int, int]:
    """Load a tokenizer without padding and truncation; return it with the ids of [CLS] and [SEP].

    Raises ModelError if it cannot be read or does not add exactly these two special tokens.
    """
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises plain Exception
        raise ModelError(f"{path}: it is not a valid tokenizer ({error}); copy or download it again") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    special = tokenizer.encode("").ids
    if len(special) != 2:
        raise ModelError(f"{path}: it adds {len(special)} special tokens; BERT's adds [CLS] and [SEP]")
    return tokenizer, special[0], special[1]


class WindowInputs:
    """Builds the windows of one model, of at most ``max_tokens`` tokens.

    ``titles`` says whether the model was trained with titles, ``closing`` whether its inputs end in [SEP].
    Raises ModelError for a tokenizer that is damaged or not BERT's.
    """

    def __init__(self, tokenizer: Path, max_tokens: int, titles: bool, closing: bool) -> None:
        self.tokenizer, self._cls, self._sep = load_tokenizer(tokenizer)
        self._tail = [self._sep] if closing else []
        self.max_tokens, self.titles = max_tokens, titles

    def tokenize(self, texts: Iterable[str]) -> dict[str, Tokens]:
        """Return the tokens of each distinct text, without special tokens."""
        distinct = list(dict.fromkeys(texts))
        encodings = self.tokenizer.encode_batch(distinct, add_special_tokens=False)
        return {
            text: Tokens(e.ids, np.array(e.offsets, np.int32).reshape(-1, 2), np.array(e.word_ids, np.int32))
            for text, e in zip(distinct, encodings, strict=True)
        }

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

        Question and title are cut to leave space for ``extra`` tokens and for ``shown`` tokens or half of the window,
        whichever is less.
        """
        question_ids = list(question.ids[:QUESTION_TOKENS])
        title_ids = list(title.ids[:TITLE_TOKENS]) if title is not None and self.titles else []
        reserved = len(appended) + len(self._tail) + extra + min(shown, self.max_tokens // 2)
        spare = self.max_tokens - reserved - len(question_ids) - 2  # for the title and its [SEP]
        question_ids, title_ids = question_ids[: max(0, len(question_ids) + min(0, spare))], title_ids[: max(0, spare - 1)]
        first_segment = [self._cls, *question_ids, self._sep]
        second_segment = [*appended, *([*title_ids, self._sep] if title_ids else [])]
        return first_segment + second_segment, len(first_segment)

    def _slide(self, front: list[int], segment: int, passage: Tokens, overlap: int) -> list[Window]:
        """Return the windows of a passage behind ``front``; consecutive ones share up to ``overlap`` tokens.

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
    """Return ids, mask and token types of windows, padded with 0: ``[windows, tokens]`` int64 each."""
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
    """Return the first and last token (inclusive) of the characters ``start:end``; None if there is no token in them."""
    first = int(np.searchsorted(tokens.offsets[:, 1], start, side="right"))
    last = int(np.searchsorted(tokens.offsets[:, 0], end, side="left")) - 1
    return (first, last) if first <= last else None
