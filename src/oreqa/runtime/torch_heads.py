"""Reader, re-ranker and classifier on a GPU through torch and transformers (the ``train`` extra)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.models.heads import HeadFolder, load_weights
from oreqa.runtime.reader import HeadBatch
from oreqa.runtime.torch_session import usable_device

Outputs = Iterator[tuple[HeadBatch, list[NDArray[Any]]]]


class TorchHeads:
    """The same computation as OpenVinoHeads', in bf16 on ``device`` (f32 where that is the CPU)."""

    def __init__(self, reader: HeadFolder, reranker: HeadFolder | None, device: str = "cuda") -> None:
        usable_device(device)
        from oreqa.models.reader import Reader
        from oreqa.models.reranker import Reranker

        self._device = device
        self._reader = _load(Reader, reader, device)
        self._reranker = None if reranker is None else _load(Reranker, reranker, device)

    def read(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Start and end ``[batch, tokens]`` and selection ``[batch]``."""
        return _run(self._reader, batches, self._device)

    def rerank(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Scores ``[batch]``."""
        return _run(self._reranker, batches, self._device)


class TorchClassifier:
    """The same computation as OpenVinoClassifier's, in bf16 on ``device`` (f32 where that is the CPU)."""

    def __init__(self, folder: HeadFolder, device: str = "cuda") -> None:
        usable_device(device)
        from transformers import BertForSequenceClassification

        self._device = device
        self._model = _load(BertForSequenceClassification, folder, device)

    def run(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Logits ``[batch]``."""
        for batch, (logits,) in _run(self._model, batches, self._device):
            yield batch, [logits[:, -1] - logits[:, 0] if logits.shape[1] > 1 else logits[:, 0]]


def _load(kind: Any, folder: HeadFolder, device: str) -> Any:
    import torch
    from transformers import BertConfig

    model = kind(BertConfig(**{name: value for name, value in folder.config.items() if name != "model_type"}))
    tensors = {name: torch.from_numpy(value) for name, value in load_weights(folder.path).items()}
    model.load_state_dict(tensors, strict=False)
    if kind.__name__ == "Reader" and "qa_classifier.weight" not in tensors:
        torch.nn.init.zeros_(model.qa_classifier.weight)
        torch.nn.init.zeros_(model.qa_classifier.bias)
    return model.to(device, torch.bfloat16 if device == "cuda" else torch.float32).eval()


def _run(model: Any, batches: Iterator[HeadBatch], device: str) -> Outputs:
    import torch

    for batch in batches:
        with torch.inference_mode():
            out = model(*(torch.from_numpy(x).to(device) for x in (batch.ids, batch.mask, batch.types)))
        outputs = out.values() if isinstance(out, dict) else out if isinstance(out, tuple) else (out,)
        yield batch, [np.asarray(x.float().cpu()) for x in outputs]
