"""Texts to vectors: any BERT-like sentence-transformers folder, on the CPU (OpenVINO) or on a GPU (torch)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import InputError
from oreqa.models.folders import EncoderFolder, find_model, read_encoder_folder
from oreqa.models.inputs import load_tokenizer
from oreqa.runtime.batches import by_length

Vectors = NDArray[np.float32]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Item:
    """One input: its token ids, and for every output vector the range of tokens that it is the mean of."""

    ids: Sequence[int]
    ranges: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded inputs (``[batch, tokens]`` int64), pooling weights (``[batch, outputs, tokens]``) and items' numbers."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    pool: NDArray[np.float32]
    items: NDArray[np.intp]


class Session(Protocol):
    """A compiled encoder. ``run`` calls back with each batch and its vectors, ``[batch, outputs, width]``."""

    def run(self, batches: Iterator[Batch], done: Callable[[Batch, Vectors], None]) -> None: ...


class Encoder:
    """A loaded encoder.

    ``dim`` is the width of its vectors, ``max_tokens`` its longest input without special tokens, ``fingerprint`` a hash
    of all that decides its numbers.
    """

    def __init__(self, folder: EncoderFolder, session: Session, fingerprint: str, dim: int) -> None:
        self.folder = folder
        self.fingerprint = fingerprint
        self.dim = dim
        self._session = session
        self._tokenizer, self._cls, self._sep = load_tokenizer(folder.tokenizer)
        self.max_tokens = folder.max_tokens - 2  # [CLS] and [SEP]

    @classmethod
    def load(cls, name: str | Path, device: str = "cpu") -> Encoder:
        """Load a model folder, or a packaged model by its name.

        ``device`` is ``cpu`` (OpenVINO, bf16 where the processor has it) or ``cuda`` (torch; needs the train extra).
        Raises ModelError for a folder that is missing or of an architecture that does not run here.
        """
        from oreqa.runtime.compiled import known_fingerprint

        folder = read_encoder_folder(find_model(name))
        stamp = known_fingerprint(folder.path)
        if device == "cpu":
            from oreqa.runtime.openvino_session import OpenVinoSession

            session: Session = OpenVinoSession(folder, stamp)
        elif device == "cuda":
            from oreqa.runtime.torch_session import TorchSession

            session = TorchSession(folder)
        else:
            raise InputError(f"there is no device {device!r}: choose cpu or cuda")
        return cls(folder, session, stamp, _width(folder))

    @property
    def pools_sentences(self) -> bool:
        """Whether a sentence's vector is taken from its passage's pass (mean pooling) or needs a pass of its own."""
        return self.folder.pooling == "mean"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones left out."""
        return [len(e) for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Vectors:
        """Vectors of whole texts, ``[texts, dim]``; longer texts than the model takes are cut.

        ``progress`` is called with the number of texts done since its last call.
        """
        if isinstance(texts, str):
            raise InputError("encode takes a list of texts, not one string")
        size = self.max_tokens
        items = []
        for encoding in self._tokenizer.encode_batch_fast([self._prepare(text) for text in texts], add_special_tokens=False):
            ids = self._frame(encoding.ids[:size])
            items.append(Item(ids, [self._whole(len(ids))]))
        out = np.zeros((len(items), self.dim), np.float32)

        def done(batch: Batch, vectors: Vectors) -> None:
            out[batch.items] = vectors[:, 0]
            if progress:
                progress(len(batch.items))

        self._session.run(_batches(items), done)
        return out

    def encode_passages(
        self,
        passages: Sequence[tuple[str, str, Sequence[Span]]],
        progress: Callable[[int], None] | None = None,
    ) -> list[Vectors]:
        """A passage's vector and its sentences', from one pass over the passage: ``[1 + sentences, dim]`` for each.

        A passage is ``(head, text, sentences)``: the head (its title) is read before the text, sentences are character
        offsets into the text. A sentence's vector is the mean of its own tokens' final states, so that it knows its
        context (late chunking, Günther et al. 2024). A passage that is too long for the model is read in runs of whole
        sentences; its vector is the mean of theirs, weighted by tokens. Models that pool [CLS] read sentences alone.
        """
        if not self.pools_sentences:
            return self._encode_apart(passages, progress)
        items, owners, weights = self._windows(passages)
        out = [np.zeros((1 + len(spans), self.dim), np.float32) for _, _, spans in passages]
        left = np.bincount([owner for owner, _ in owners], minlength=len(passages))

        def done(batch: Batch, vectors: Vectors) -> None:
            finished = 0
            for row, item in enumerate(batch.items):
                owner, first = owners[item]
                count = len(items[item].ranges) - 1
                out[owner][0] += weights[item] * vectors[row, 0]
                out[owner][1 + first : 1 + first + count] = vectors[row, 1 : 1 + count]
                left[owner] -= 1
                finished += int(left[owner] == 0)
            if progress and finished:
                progress(finished)

        self._session.run(_batches(items), done)
        if self.folder.normalise:
            for rows in out:
                rows[0] /= max(float(np.linalg.norm(rows[0])), 1e-12)
        return out

    def _encode_apart(
        self, passages: Sequence[tuple[str, str, Sequence[Span]]], progress: Callable[[int], None] | None
    ) -> list[Vectors]:
        texts: list[str] = []
        for head, text, spans in passages:
            texts.append(f"{head}. {text}" if head else text)
            texts.extend(text[start:end] for start, end in spans)
        vectors = self.encode(texts)
        ends = np.cumsum([1 + len(spans) for _, _, spans in passages])
        if progress:
            progress(len(passages))
        return np.split(vectors, ends[:-1]) if len(passages) else []

    def _windows(
        self, passages: Sequence[tuple[str, str, Sequence[Span]]]
    ) -> tuple[list[Item], list[tuple[int, int]], list[float]]:
        """Items for the encoder; for each its passage and first sentence; and its share of the passage's vector."""
        heads = self._tokenizer.encode_batch_fast(
            [self._prepare(f"{head}." if head else "") for head, _, _ in passages], add_special_tokens=False
        )
        texts = self._tokenizer.encode_batch([self._prepare(text) for _, text, _ in passages], add_special_tokens=False)
        items, owners, weights = [], [], []
        for number, ((_, _, spans), head, text) in enumerate(zip(passages, heads, texts, strict=True)):
            prefix = head.ids[: self.max_tokens // 4]
            room = self.max_tokens - len(prefix)
            tokens = _token_ranges(text.offsets, spans)
            for first, last, begin, end in _runs(tokens, len(text.ids), room):
                ids = self._frame([*prefix, *text.ids[begin:end]])
                shift = 1 + len(prefix) - begin
                ranges = [self._whole(len(ids))]
                ranges += [(a + shift, min(b, end) + shift) for a, b in tokens[first:last]]
                items.append(Item(ids, ranges))
                owners.append((number, first))
                weights.append((end - begin) / max(len(text.ids), 1))
        return items, owners, weights

    def _prepare(self, text: str) -> str:
        # Letter by letter where lower-casing would change the length, so that offsets stay true.
        lower = text.lower() if self.folder.lower_case else text
        return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)

    def _frame(self, ids: Sequence[int]) -> list[int]:
        return [self._cls, *ids, self._sep]

    def _whole(self, length: int) -> Span:
        return (0, length) if self.folder.pooling == "mean" else (0, 1)


def _token_ranges(offsets: Sequence[Span], spans: Sequence[Span]) -> list[Span]:
    """The tokens that begin inside each character span; the whole text's for a span that holds none."""
    starts = np.array([start for start, _ in offsets], np.int64)
    edges = np.searchsorted(starts, np.array(spans, np.int64).reshape(-1, 2))
    return [(int(a), int(b)) if a < b else (0, max(len(offsets), 1)) for a, b in edges]


def _runs(tokens: Sequence[Span], total: int, room: int) -> Iterator[tuple[int, int, int, int]]:
    """Runs of whole sentences of at most ``room`` tokens: first and last sentence and token, ends excluded."""
    if total <= room or not tokens:
        yield 0, len(tokens), 0, min(total, room)
        return
    first = 0
    while first < len(tokens):
        begin = tokens[first][0]
        last = first + 1
        while last < len(tokens) and tokens[last][1] - begin <= room:
            last += 1
        yield first, last, begin, min(max(end for _, end in tokens[first:last]), begin + room)
        first = last


def _batches(items: Sequence[Item]) -> Iterator[Batch]:
    for chosen in by_length([len(item.ids) for item in items]):
        tokens = len(items[chosen[0]].ids)
        outputs = max(len(items[i].ranges) for i in chosen)
        ids = np.zeros((len(chosen), tokens), np.int64)
        mask = np.zeros((len(chosen), tokens), np.int64)
        pool = np.zeros((len(chosen), outputs, tokens), np.float32)
        for row, i in enumerate(chosen):
            item = items[i]
            ids[row, : len(item.ids)] = item.ids
            mask[row, : len(item.ids)] = 1
            for output, (start, end) in enumerate(item.ranges):
                pool[row, output, start:end] = 1.0 / (end - start)
        yield Batch(ids, mask, pool, chosen)


def _width(folder: EncoderFolder) -> int:
    if not folder.dense:
        return int(folder.config["hidden_size"])
    from safetensors import safe_open

    with safe_open(folder.dense[-1].folder / "model.safetensors", "np") as tensors:
        return int(tensors.get_slice("linear.weight").get_shape()[0])
