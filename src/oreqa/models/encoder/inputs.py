"""Build an encoder's inputs, from questions and from passages with their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.core import Range
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.graph.session import Batch, batches_by_length
from oreqa.models.graph.windows import load_tokenizer, read_template

PassageText = tuple[str, str, Sequence[Range]]
"""Head (the title), text, and the sentences' character offsets in the text."""


@dataclass(frozen=True, slots=True)
class EncoderInput:
    """One input: token ids and types, and for each output vector the end-exclusive range of tokens that it averages."""

    ids: Sequence[int]
    types: Sequence[int]
    ranges: Sequence[Range]


@dataclass(frozen=True, slots=True)
class PassageInput:
    """One input of passage number ``passage``. Its first vector is the passage's; the others are those of its sentences,
    from sentence number ``first`` on.

    A passage may have several inputs: its vector is the sum of their first vectors, weighted by ``share``.
    """

    tokens: EncoderInput
    passage: int
    first: int
    share: float


class EncoderInputs:
    """Builds the inputs of one encoder. ``max_tokens`` is the longest text, without special tokens."""

    def __init__(self, folder: EncoderFolder) -> None:
        self.folder = folder
        self.tokenizer = load_tokenizer(folder.tokenizer)
        self._single, self._pair = (read_template(self.tokenizer, folder.tokenizer, texts) for texts in (1, 2))
        self.max_tokens = folder.max_tokens - len(self._single.front) - len(self._single.tail)

    def questions(self, texts: Sequence[str]) -> list[EncoderInput]:
        """Return one input per text, truncated to ``max_tokens``; a text without tokens gives the special ones."""
        token_type = self.folder.query_token_type
        rows = (self._frame(ids[: self.max_tokens]) for ids in self._ids(texts))
        return [EncoderInput(ids, [token_type] * len(ids), [self._whole(len(ids))]) for ids in rows]

    def passages(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        """Return the inputs of all passages, in order; ``EncoderFolder.context`` decides what they contain.

        ``late_chunking``: one pass over head and text; a sentence's vector is the mean of its tokens' final hidden states,
        which depend on the whole passage (Günther et al. 2024). A passage that is too long is encoded in runs of whole
        sentences. ``cross_segment``: each sentence and its passage as two segments (Yang et al. 2021, section 4.2); the
        passage's vector is the mean of its sentences'. ``none``: the passage, and each sentence on its own.

        A sentence without tokens (control characters, combining marks, unusual blanks) gets the vector of its run of
        sentences; in a passage without tokens, the passage's vector.
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
            runs = list(_runs(tokens, len(text.ids), self.max_tokens - len(prefix)))
            encoded = sum(end - begin for *_, begin, end in runs)
            for first, last, begin, end in runs:
                ids = self._frame([*prefix, *text.ids[begin:end]])
                shift = len(self._single.front) + len(prefix) - begin
                ranges = [self._whole(len(ids))]
                run = (begin + shift, end + shift) if begin < end else ranges[0]
                ranges += [(a + shift, min(b, end) + shift) if a < b else run for a, b in tokens[first:last]]
                share = (end - begin) / encoded if encoded else 1.0
                inputs.append(PassageInput(EncoderInput(ids, [0] * len(ids), ranges), number, first, share))
        return inputs

    def _without_context(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        inputs = []
        for number, (head, text, spans) in enumerate(passages):
            texts = [f"{head}. {text}" if head else text, *(text[start:end] for start, end in spans)]
            for place, ids in enumerate(self._ids(texts)):
                framed = self._frame(ids[: self.max_tokens])
                tokens = EncoderInput(framed, [0] * len(framed), [self._whole(len(framed))] * (2 if place else 1))
                inputs.append(PassageInput(tokens, number, max(0, place - 1), float(place == 0)))
        return inputs

    def _cross_segment(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        inputs, pair = [], self._pair
        for number, (head, text, spans) in enumerate(passages):
            context, *sentences = self._ids([f"{head}. {text}" if head else text, *(text[a:b] for a, b in spans)])
            sentences = sentences or [[]]  # no sentences: encode the passage alone
            for place, sentence in enumerate(sentences):
                first = [*pair.front, *sentence[: self.max_tokens // 2], *pair.between]
                second = [*context[: self.folder.max_tokens - len(first) - len(pair.tail)], *pair.tail]
                ids = first + second
                ranges = [self._whole(len(ids))] * (2 if spans else 1)
                tokens = EncoderInput(ids, [0] * len(first) + [int(pair.segments)] * len(second), ranges)
                inputs.append(PassageInput(tokens, number, place, 1 / len(sentences)))
        return inputs

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self.tokenizer.encode_batch_fast([self._prepare(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def _prepare(self, text: str) -> str:
        # Letters whose lower case has another length stay as they are, so that offsets stay valid.
        lower = text.lower() if self.folder.lower_case else text
        return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)

    def _frame(self, ids: Sequence[int]) -> list[int]:
        return [*self._single.front, *ids, *self._single.tail]

    def _whole(self, length: int) -> Range:
        return (0, 1) if self.folder.pooling == "cls" else (0, length)


def input_arrays(inputs: Sequence[EncoderInput]) -> tuple[NDArray[Any], ...]:
    """Return padded ids, mask and types ``[inputs, tokens]`` int64, pooling weights ``[inputs, outputs, tokens]`` f32."""
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
    """Yield the inputs in padded batches of similar length."""
    for chosen in batches_by_length([len(row.ids) for row in inputs]):
        yield Batch(input_arrays([inputs[i] for i in chosen]), chosen)


def _token_ranges(offsets: Sequence[Range], spans: Sequence[Range]) -> list[Range]:
    """Return the range of tokens that begin inside each character span."""
    starts = np.array([start for start, _ in offsets], np.int64)
    edges = np.searchsorted(starts, np.array(spans, np.int64).reshape(-1, 2))
    return [(int(a), int(b)) for a, b in edges]


def _runs(tokens: Sequence[Range], total: int, max_tokens: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield runs of whole sentences of at most ``max_tokens`` tokens: a range of sentences, a range of tokens."""
    if total <= max_tokens or not tokens:
        yield 0, len(tokens), 0, min(total, max_tokens)
        return
    first = 0
    while first < len(tokens):
        begin = tokens[first][0]
        last = first + 1
        while last < len(tokens) and tokens[last][0] >= begin and tokens[last][1] - begin <= max_tokens:
            last += 1
        yield first, last, begin, min(max(end for _, end in tokens[first:last]), begin + max_tokens)
        first = last
