"""Texts to vectors: any BERT-like sentence-transformers folder, on the CPU (OpenVINO) or on a GPU (torch)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import InputError
from oreqa.models.folders import EncoderFolder, find_model, load_dense, read_encoder_folder, whole_number
from oreqa.models.items import Item, ItemMaker, PassageText
from oreqa.runtime.batches import by_length, check_finite

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded inputs (``[batch, tokens]`` int64), pooling weights (``[batch, outputs, tokens]``) and items' numbers."""

    ids: Ids
    mask: Ids
    types: Ids
    pool: Vectors
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
        self._items = ItemMaker(folder)
        self.max_tokens = self._items.max_tokens

    @classmethod
    def load(cls, name: str | Path, device: str = "cpu", precision: str | None = None) -> Encoder:
        """Load a model folder, or a packaged model by its name.

        ``device`` is ``cpu`` (OpenVINO) or ``cuda`` (torch; needs the train extra); ``precision`` one of f32, bf16, i8 (f32
        for an encoder) and auto (bf16 where the processor has it); left out, it is $OREQA_PRECISION, else auto.
        Raises ModelError for a folder that is missing, damaged or of an architecture that does not run here, InputError for
        a precision that the processor does not offer.
        """
        from oreqa.runtime.cache import known_fingerprint

        folder = read_encoder_folder(find_model(name))
        stamp = known_fingerprint(folder.path)
        if device == "cpu":
            from oreqa.runtime.openvino_session import OpenVinoSession

            session: Session = OpenVinoSession(folder, stamp, precision)
        elif device == "cuda":
            from oreqa.runtime.torch_session import TorchSession

            session = TorchSession(folder, device, precision)
        else:
            raise InputError(f"there is no device {device!r}: choose cpu or cuda")
        return cls(folder, session, stamp, _width(folder))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones left out."""
        return [len(e) for e in self._items.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]

    def encode(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Vectors:
        """Vectors of questions (or of any whole texts), ``[texts, dim]``; longer ones than the model takes are cut.

        ``progress`` is called with the number of texts done since its last call.
        """
        if isinstance(texts, str):
            raise InputError("encode takes a list of texts, not one string")
        items = self._items.questions(texts)
        out = np.zeros((len(items), self.dim), np.float32)

        def done(batch: Batch, vectors: Vectors) -> None:
            out[batch.items] = vectors[:, 0]
            if progress:
                progress(len(batch.items))

        self._session.run(item_batches(items), done)
        check_finite(out, self.folder.path)
        return out

    def encode_passages(
        self,
        passages: Sequence[PassageText],
        progress: Callable[[int], None] | None = None,
    ) -> list[Vectors]:
        """A passage's vector and its sentences', ``[1 + sentences, dim]`` for each; ``ItemMaker.passages`` tells how.

        ``progress`` is called with the number of passages done since its last call.
        """
        placed = self._items.passages(passages)
        out = [np.zeros((1 + len(spans), self.dim), np.float32) for _, _, spans in passages]
        left = np.bincount([one.passage for one in placed], minlength=len(passages))

        def done(batch: Batch, vectors: Vectors) -> None:
            finished = 0
            for row, number in enumerate(batch.items):
                one = placed[number]
                count = len(one.item.ranges) - 1
                out[one.passage][0] += one.share * vectors[row, 0]
                out[one.passage][1 + one.first : 1 + one.first + count] = vectors[row, 1 : 1 + count]
                left[one.passage] -= 1
                finished += int(left[one.passage] == 0)
            if progress and finished:
                progress(finished)

        self._session.run(item_batches([one.item for one in placed]), done)
        for rows in out:
            check_finite(rows, self.folder.path)
            if self.folder.normalise:
                rows[0] /= max(float(np.linalg.norm(rows[0])), 1e-12)
        return out


def item_batches(items: Sequence[Item]) -> Iterator[Batch]:
    """Items in batches of like length."""
    for chosen in by_length([len(item.ids) for item in items]):
        yield Batch(*item_arrays([items[i] for i in chosen]), chosen)


def item_arrays(items: Sequence[Item]) -> tuple[Ids, Ids, Ids, Vectors]:
    """Padded ids, mask and types (``[items, tokens]``) and pooling weights (``[items, outputs, tokens]``)."""
    tokens = max((len(item.ids) for item in items), default=0)
    outputs = max((len(item.ranges) for item in items), default=0)
    ids, mask, types = (np.zeros((len(items), tokens), np.int64) for _ in range(3))
    pool = np.zeros((len(items), outputs, tokens), np.float32)
    for row, item in enumerate(items):
        size = len(item.ids)
        ids[row, :size], mask[row, :size], types[row, :size] = item.ids, 1, item.types
        for output, (start, end) in enumerate(item.ranges):
            pool[row, output, start:end] = 1.0 / (end - start)
    return ids, mask, types, pool


def _width(folder: EncoderFolder) -> int:
    if not folder.dense:
        return whole_number(folder.config, "hidden_size", folder.path, least=1)
    return len(load_dense(folder.dense[-1])[0])
