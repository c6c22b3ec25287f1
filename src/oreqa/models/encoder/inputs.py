"""What an encoder reads: questions, and passages with the sentences in them that are candidate answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.graph.session import Batch, batches_by_length
from oreqa.models.graph.windows import load_tokenizer

Range = tuple[int, int]
PassageText = tuple[str, str, Sequence[Range]]
"""Head (the title), text, and the sentences' character offsets into the text."""


@dataclass(frozen=True, slots=True)
class EncoderInput:
    """One input: its token ids and types, and for every output vector the range of tokens that it is the mean of."""

    ids: Sequence[int]
    types: Sequence[int]
    ranges: Sequence[Range]


@dataclass(frozen=True, slots=True)
class PassageInput:
    """An input that gives vectors of a passage: first its own, then those of sentences from number ``first`` on.

    The passage's vector is the sum of its inputs' first ones, weighted by ``share``.
    """

    tokens: EncoderInput
    passage: int
    first: int
    share: float


class EncoderInputs:
    """Makes the inputs of one encoder. ``max_tokens`` is its longest text, without [CLS] and [SEP]."""

    def __init__(self, folder: EncoderFolder) -> None:
        self.folder = folder
        self.tokenizer, self._cls, self._sep = load_tokenizer(folder.tokenizer)
        self.max_tokens = folder.max_tokens - 2

    def questions(self, texts: Sequence[str]) -> list[EncoderInput]:
        """One input a text, cut where it is longer than the model takes; of a text without tokens, [CLS] and [SEP]."""
        kind = self.folder.query_token_type
        rows = (self._frame(ids[: self.max_tokens]) for ids in self._ids(texts))
        return [EncoderInput(ids, [kind] * len(ids), [self._whole(len(ids))]) for ids in rows]

    def passages(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        """The inputs of every passage, by what the model sees with a sentence (``EncoderFolder.context``).

        ``late_chunking``: one pass over head and text; a sentence's vector is the mean of its own tokens' final states, so
        that it knows its context (Günther et al. 2024). A passage that is too long is read in runs of whole sentences.
        ``cross_segment``: every sentence with its passage as two segments (Yang et al. 2021, section 4.2); the passage's
        vector is the mean of theirs. ``none``: the passage, and every sentence by itself.

        A sentence without tokens (blanks that are no white space, control characters, combining marks) has the vector of
        the passage's tokens that are read with it, and in a passage without tokens the passage's own.
        """
        if self.folder.context == "late_chunking":
            return self._late_chunking(passages)
        return self._cross_segment(passages) if self.folder.context == "cross_segment" else self._without_context(passages)

    def _late_chunking(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        heads = self._ids([f"{head}." if head else "" for head, _, _ in passages])
        texts = self.tokenizer.encode_batch([self._prepare(text) for _, text, _ in passages], add_special_tokens=False)
        inputs = []
        for number, ((_, _, spans), head, text) in enumerate(zip(passages, heads, texts, strict=True)):
            prefix = head[: self.max_tokens // 4]
            tokens = _token_ranges(text.offsets, spans)
            for first, last, begin, end in _runs(tokens, len(text.ids), self.max_tokens - len(prefix)):
                ids = self._frame([*prefix, *text.ids[begin:end]])
                shift = 1 + len(prefix) - begin
                ranges = [self._whole(len(ids))]
                run = (begin + shift, end + shift) if begin < end else ranges[0]
                ranges += [(a + shift, min(b, end) + shift) if a < b else run for a, b in tokens[first:last]]
                share = (end - begin) / len(text.ids) if text.ids else 1.0
                inputs.append(PassageInput(EncoderInput(ids, [0] * len(ids), ranges), number, first, share))
        return inputs

    def _without_context(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        inputs = []
        for number, (head, text, spans) in enumerate(passages):
            texts = [f"{head}. {text}" if head else text, *(text[start:end] for start, end in spans)]
            for place, ids in enumerate(self._ids(texts)):
                framed = self._frame(ids[: self.max_tokens])
                item = EncoderInput(framed, [0] * len(framed), [self._whole(len(framed))] * (2 if place else 1))
                inputs.append(PassageInput(item, number, max(0, place - 1), float(place == 0)))
        return inputs

    def _cross_segment(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        inputs = []
        for number, (head, text, spans) in enumerate(passages):
            context, *sentences = self._ids([f"{head}. {text}" if head else text, *(text[a:b] for a, b in spans)])
            sentences = sentences or [[]]  # of a passage without sentences, the passage by itself
            for place, sentence in enumerate(sentences):
                first = self._frame(sentence[: self.max_tokens // 2])
                second = [*context[: self.max_tokens + 1 - len(first)], self._sep]
                ids = first + second
                item = EncoderInput(ids, [0] * len(first) + [1] * len(second), [self._whole(len(ids))] * (2 if spans else 1))
                inputs.append(PassageInput(item, number, place, 1 / len(sentences)))
        return inputs

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self.tokenizer.encode_batch_fast([self._prepare(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _prepare(self, text: str) -> str:
        # Letter by letter where lower-casing would change the length, so that offsets stay true.
        lower = text.lower() if self.folder.lower_case else text
        return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)

    def _frame(self, ids: Sequence[int]) -> list[int]:
        return [self._cls, *ids, self._sep]

    def _whole(self, length: int) -> Range:
        return (0, length) if self.folder.pooling == "mean" else (0, 1)


def input_arrays(inputs: Sequence[EncoderInput]) -> tuple[NDArray[Any], ...]:
    """Padded ids, mask and types, ``[inputs, tokens]`` int64, and pooling weights, ``[inputs, outputs, tokens]`` float32."""
    tokens = max((len(row.ids) for row in inputs), default=0)
    outputs = max((len(row.ranges) for row in inputs), default=0)
    ids, mask, types = (np.zeros((len(inputs), tokens), np.int64) for _ in range(3))
    pool = np.zeros((len(inputs), outputs, tokens), np.float32)
    for number, row in enumerate(inputs):
        size = len(row.ids)
        ids[number, :size], mask[number, :size], types[number, :size] = row.ids, 1, row.types
        for output, (start, end) in enumerate(row.ranges):
            pool[number, output, start:end] = 1.0 / (end - start)
    return ids, mask, types, pool


def input_batches(inputs: Sequence[EncoderInput]) -> Iterator[Batch]:
    """Inputs in padded batches of like length."""
    for chosen in batches_by_length([len(row.ids) for row in inputs]):
        yield Batch(input_arrays([inputs[i] for i in chosen]), chosen)


def _token_ranges(offsets: Sequence[Range], spans: Sequence[Range]) -> list[Range]:
    """The tokens that begin inside each character span."""
    starts = np.array([start for start, _ in offsets], np.int64)
    edges = np.searchsorted(starts, np.array(spans, np.int64).reshape(-1, 2))
    return [(int(a), int(b)) for a, b in edges]


def _runs(tokens: Sequence[Range], total: int, room: int) -> Iterator[tuple[int, int, int, int]]:
    """Runs of whole sentences of at most ``room`` tokens: first and last sentence and token, ends excluded."""
    if total <= room or not tokens:
        yield 0, len(tokens), 0, min(total, room)
        return
    first = 0
    while first < len(tokens):
        begin = tokens[first][0]
        last = first + 1
        while last < len(tokens) and tokens[last][0] >= begin and tokens[last][1] - begin <= room:
            last += 1
        yield first, last, begin, min(max(end for _, end in tokens[first:last]), begin + room)
        first = last
