"""Builds an encoder's inputs from questions and from passages with their sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer, normalizers

from oreqa.core import Range
from oreqa.errors import ModelError
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.graph.session import Batch, batches_by_length
from oreqa.models.graph.tokenizer import Template, load_tokenizer, read_template
from oreqa.models.settings import MIN_TOKENS, MODEL2VEC

PassageText = tuple[str, str, Sequence[Range]]
"""Head (the title), text, and the sentences' character offsets in the text."""


@dataclass(frozen=True, slots=True)
class EncoderInput:
    """One input: token ids and types, and for each output vector the end-exclusive range of tokens that it pools."""

    ids: Sequence[int]
    types: Sequence[int]
    ranges: Sequence[Range]
    pooling: str = "mean"


@dataclass(frozen=True, slots=True)
class PassageInput:
    """One input of passage number ``passage``. Its first vector is the passage's; the others belong to its sentences from
    number ``first`` on.

    A passage may have several inputs: its vector is the sum of their first vectors, weighted by ``share``.
    """

    tokens: EncoderInput
    passage: int
    first: int
    share: float


class EncoderInputs:
    """Builds the inputs of one encoder. ``max_tokens`` is the longest passage, without special tokens and prompt.

    Raises ModelError if a prompt leaves no space for a text.
    """

    def __init__(self, folder: EncoderFolder) -> None:
        self.folder = folder
        self.tokenizer = load_tokenizer(folder.tokenizer)
        if folder.lower_case:
            rules = [] if self.tokenizer.normalizer is None else [self.tokenizer.normalizer]
            self.tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *rules])
        if folder.static:
            self._single = self._pair = Template([], [], [], False)
        else:
            self._single, self._pair = (read_template(self.tokenizer, folder.tokenizer, texts) for texts in (1, 2))
        self._room = folder.max_tokens - len(self._single.front) - len(self._single.tail)
        self._dropped, self._letters = _word_limits(self.tokenizer, folder)
        question, passage = self.count_tokens([folder.prompts.question, folder.prompts.passage])
        self.max_tokens = self._room - passage
        if (longest := max(question, passage)) and self._room - longest < MIN_TOKENS:
            raise ModelError(f"{folder.path}: its prompt of {longest} tokens leaves no space in {self._room} for a text")
        self._question_start, self._passage_start = (self._pooled_from(length) for length in (question, passage))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special ones."""
        return [len(e) for e in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def questions(self, texts: Sequence[str]) -> list[EncoderInput]:
        """Return one input per text, preceded by the question prompt and truncated to the model's limit.

        A text without tokens yields only the special ones.
        """
        token_type = self.folder.query_token_type
        rows = (self._frame(ids[: self._room]) for ids in self._ids([self.folder.prompts.question + t for t in texts]))
        return [self._input(ids, [token_type] * len(ids), [self._whole(len(ids), self._question_start)]) for ids in rows]

    def passages(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        """Return the inputs of all passages, in order; ``EncoderFolder.context`` decides what they contain.

        ``late_chunking``: one pass over head and text; a sentence's vector is the mean of its tokens' final hidden
        states, which depend on the whole passage (Günther et al. 2024). A passage that is too long is encoded in runs of
        whole sentences. ``cross_segment``: each sentence and its passage as two segments (Yang et al. 2021, section
        4.2); the passage's vector is the mean of its sentences'. ``none``: the passage, and each sentence on its own.

        The passage prompt precedes every input. A sentence without tokens (control characters, combining marks, unusual
        blanks) gets the vector of its run of sentences, or of the passage if that has no tokens either.
        """
        if self.folder.context == "late_chunking":
            return self._late_chunking(passages)
        return self._cross_segment(passages) if self.folder.context == "cross_segment" else self._without_context(passages)

    def _late_chunking(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        prompt, inputs = self.folder.prompts.passage, []
        fronts = [f"{prompt}{head}. " if head else prompt for head, _, _ in passages]
        whole = [front + text for front, (_, text, _) in zip(fronts, passages, strict=True)]
        encodings = self.tokenizer.encode_batch(whole, add_special_tokens=False)
        for number, (front, text, encoding) in enumerate(zip(fronts, whole, encodings, strict=True)):
            ids, starts = self._ids_and_starts(text, encoding)
            prompt_tokens, front_tokens = np.searchsorted(starts, [len(prompt), len(front)]).tolist()
            prefix, ids = ids[: min(front_tokens, prompt_tokens + self.max_tokens // 4)], ids[front_tokens:]
            tokens = _token_ranges(starts[front_tokens:] - len(front), passages[number][2])
            runs = list(_runs(tokens, len(ids), self._room - len(prefix)))
            encoded = sum(end - begin for *_, begin, end in runs)
            for first, last, begin, end in runs:
                framed = self._frame([*prefix, *ids[begin:end]])
                shift = len(self._single.front) + len(prefix) - begin
                ranges = [self._whole(len(framed), self._passage_start)]
                run = (begin + shift, end + shift) if begin < end else ranges[0]
                ranges += [(a + shift, min(b, end) + shift) if a < b else run for a, b in tokens[first:last]]
                share = (end - begin) / encoded if encoded else 1.0
                inputs.append(PassageInput(self._input(framed, [0] * len(framed), ranges), number, first, share))
        return inputs

    def _without_context(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        inputs = []
        for number, (head, text, spans) in enumerate(passages):
            texts = [f"{head}. {text}" if head else text, *(text[start:end] for start, end in spans)]
            for place, ids in enumerate(self._ids([self.folder.prompts.passage + text for text in texts])):
                framed = self._frame(ids[: self._room])
                whole = self._whole(len(framed), self._passage_start)
                tokens = self._input(framed, [0] * len(framed), [whole] * (2 if place else 1))
                inputs.append(PassageInput(tokens, number, max(0, place - 1), float(place == 0)))
        return inputs

    def _cross_segment(self, passages: Sequence[PassageText]) -> list[PassageInput]:
        inputs, pair, prompt = [], self._pair, self.folder.prompts.passage
        for number, (head, text, spans) in enumerate(passages):
            sentence_texts = [prompt + text[a:b] for a, b in spans] or [prompt]  # no sentences: encode the passage alone
            context, *sentences = self._ids([f"{head}. {text}" if head else text, *sentence_texts])
            for place, sentence in enumerate(sentences):
                first = [*pair.front, *sentence[: self._room // 2], *pair.between]
                second = [*context[: self.folder.max_tokens - len(first) - len(pair.tail)], *pair.tail]
                ids = first + second
                ranges = [self._whole(len(ids), self._passage_start)] * (2 if spans else 1)
                tokens = self._input(ids, [0] * len(first) + [int(pair.segments)] * len(second), ranges)
                inputs.append(PassageInput(tokens, number, place, 1 / len(sentences)))
        return inputs

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        cut = [text[: self._letters] for text in texts] if self._letters else texts
        encodings = self.tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        return [self._kept(encoding.ids) for encoding in encodings]

    def _kept(self, ids: list[int]) -> list[int]:
        return ids if self._dropped is None else [number for number in ids[: self._room] if number != self._dropped]

    def _ids_and_starts(self, text: str, encoding: Encoding) -> tuple[list[int], NDArray[np.int64]]:
        """Return the ids of a text's tokens, and where each begins: some tokenizers include the blank before a word."""
        ids, starts = encoding.ids, [start for start, _ in encoding.offsets]
        for token in range(len(starts)):
            while text[starts[token] : starts[token] + 1].isspace():
                starts[token] += 1
        if self._dropped is not None:
            starts = [start for start, number in zip(starts, ids, strict=True) if number != self._dropped]
            ids = [number for number in ids if number != self._dropped]
        return ids, np.maximum.accumulate(np.array(starts, np.int64))

    def _frame(self, ids: Sequence[int]) -> list[int]:
        return [*self._single.front, *ids, *self._single.tail]

    def _input(self, ids: Sequence[int], types: Sequence[int], ranges: Sequence[Range]) -> EncoderInput:
        return EncoderInput(ids, types, ranges, self.folder.pooling)

    def _pooled_from(self, prompt: int) -> int:
        """Return the first token to pool after a prompt of ``prompt`` tokens (counted like sentence-transformers)."""
        if self.folder.pool_prompt or not prompt:
            return 0
        return len(self._single.front) + prompt + max(0, len(self._single.tail) - 1)

    def _whole(self, length: int, start: int = 0) -> Range:
        start = min(start, max(0, length - 1))
        if self.folder.pooling == "cls":
            return start, start + 1
        return (length - 1, length) if self.folder.pooling == "lasttoken" else (start, length)


def _word_limits(tokenizer: Tokenizer, folder: EncoderFolder) -> tuple[int | None, int | None]:
    """Return what model2vec drops from a text: the token of unknown words, and the characters beyond this limit."""
    if folder.config.get("model_type") != MODEL2VEC or not folder.static:
        return None, None
    model = json.loads(tokenizer.to_str())["model"]
    unknown = model.get("unk_id") if model["type"] == "Unigram" else tokenizer.token_to_id(model.get("unk_token") or "")
    lengths = [len(token) for token in tokenizer.get_vocab()]
    return unknown, folder.max_tokens * int(np.median(lengths))


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
            if start < end:  # a static encoder's text may have no tokens at all
                pool[number, output, start:end] = _pool_weights(row.pooling, start, end)
    return ids, mask, types, pool


def input_batches(inputs: Sequence[EncoderInput]) -> Iterator[Batch]:
    """Yield the inputs in padded batches of similar length."""
    for chosen in batches_by_length([len(row.ids) for row in inputs]):
        yield Batch(input_arrays([inputs[i] for i in chosen]), chosen)


def _pool_weights(pooling: str, start: int, end: int) -> Any:
    """Return the pooling weights of the tokens ``start:end``. For a maximum and attention, only where they are 0 matters."""
    if pooling == "weightedmean":
        weights = np.arange(start + 1, end + 1, dtype=np.float32)
        return weights / weights.sum()
    return 1.0 / (np.sqrt(end - start) if pooling == "mean_sqrt_len_tokens" else end - start)


def _token_ranges(starts: NDArray[np.int64], spans: Sequence[Range]) -> list[Range]:
    """Return the range of tokens that begin inside each character span."""
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
