"""What an encoder reads: questions, and passages with the sentences in them that are candidate answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from oreqa.models.folders import EncoderFolder
from oreqa.models.inputs import load_tokenizer

Span = tuple[int, int]
PassageText = tuple[str, str, Sequence[Span]]
"""Head (the title), text, and the sentences' character offsets into the text."""


@dataclass(frozen=True, slots=True)
class Item:
    """One input: its token ids and types, and for every output vector the range of tokens that it is the mean of."""

    ids: Sequence[int]
    types: Sequence[int]
    ranges: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Placed:
    """An item that gives vectors of a passage: first its own, then those of sentences from number ``first`` on.

    The passage's vector is the sum of its items' first ones, weighted by ``share``.
    """

    item: Item
    passage: int
    first: int
    share: float


class ItemMaker:
    """Makes the inputs of one encoder. ``max_tokens`` is its longest text, without [CLS] and [SEP]."""

    def __init__(self, folder: EncoderFolder) -> None:
        self.folder = folder
        self.tokenizer, self._cls, self._sep = load_tokenizer(folder.tokenizer)
        self.max_tokens = folder.max_tokens - 2

    def questions(self, texts: Sequence[str]) -> list[Item]:
        """An item a text, cut where it is longer than the model takes; of a text without tokens, [CLS] and [SEP]."""
        kind = self.folder.question_type
        rows = (self._frame(ids[: self.max_tokens]) for ids in self._ids(texts))
        return [Item(ids, [kind] * len(ids), [self._whole(len(ids))]) for ids in rows]

    def passages(self, passages: Sequence[PassageText]) -> list[Placed]:
        """The items of every passage, by the way in which the model reads answers (``EncoderFolder.answers``).

        ``inside``: one pass over head and text; a sentence's vector is the mean of its own tokens' final states, so that it
        knows its context (late chunking, Günther et al. 2024). A passage that is too long is read in runs of whole
        sentences. ``pairs``: every sentence with its passage as two segments (Yang et al. 2021, section 3); the passage's
        vector is the mean of theirs. ``alone``: the passage, and every sentence by itself.

        A sentence without tokens (blanks that are no white space, control characters, combining marks) has the vector of
        the passage's tokens that are read with it, and in a passage without tokens the passage's own.
        """
        if self.folder.answers == "inside":
            return self._inside(passages)
        return self._pairs(passages) if self.folder.answers == "pairs" else self._alone(passages)

    def _inside(self, passages: Sequence[PassageText]) -> list[Placed]:
        heads = self._ids([f"{head}." if head else "" for head, _, _ in passages])
        texts = self.tokenizer.encode_batch([self._prepare(text) for _, text, _ in passages], add_special_tokens=False)
        placed = []
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
                placed.append(Placed(Item(ids, [0] * len(ids), ranges), number, first, share))
        return placed

    def _alone(self, passages: Sequence[PassageText]) -> list[Placed]:
        placed = []
        for number, (head, text, spans) in enumerate(passages):
            texts = [f"{head}. {text}" if head else text, *(text[start:end] for start, end in spans)]
            for place, ids in enumerate(self._ids(texts)):
                framed = self._frame(ids[: self.max_tokens])
                item = Item(framed, [0] * len(framed), [self._whole(len(framed))] * (2 if place else 1))
                placed.append(Placed(item, number, max(0, place - 1), float(place == 0)))
        return placed

    def _pairs(self, passages: Sequence[PassageText]) -> list[Placed]:
        placed = []
        for number, (head, text, spans) in enumerate(passages):
            context, *sentences = self._ids([f"{head}. {text}" if head else text, *(text[a:b] for a, b in spans)])
            sentences = sentences or [[]]  # of a passage without sentences, the passage by itself
            for place, sentence in enumerate(sentences):
                first = self._frame(sentence[: self.max_tokens // 2])
                second = [*context[: self.max_tokens + 1 - len(first)], self._sep]
                ids = first + second
                item = Item(ids, [0] * len(first) + [1] * len(second), [self._whole(len(ids))] * (2 if spans else 1))
                placed.append(Placed(item, number, place, 1 / len(sentences)))
        return placed

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        found = self.tokenizer.encode_batch_fast([self._prepare(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in found]

    def _prepare(self, text: str) -> str:
        # Letter by letter where lower-casing would change the length, so that offsets stay true.
        lower = text.lower() if self.folder.lower_case else text
        return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)

    def _frame(self, ids: Sequence[int]) -> list[int]:
        return [self._cls, *ids, self._sep]

    def _whole(self, length: int) -> Span:
        return (0, length) if self.folder.pooling == "mean" else (0, 1)


def _token_ranges(offsets: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """The tokens that begin inside each character span."""
    starts = np.array([start for start, _ in offsets], np.int64)
    edges = np.searchsorted(starts, np.array(spans, np.int64).reshape(-1, 2))
    return [(int(a), int(b)) for a, b in edges]


def _runs(tokens: Sequence[Span], total: int, room: int) -> Iterator[tuple[int, int, int, int]]:
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
