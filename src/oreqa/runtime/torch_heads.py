"""Reader, re-ranker and classifier on a GPU through torch and transformers (the ``train`` extra)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.heads import HeadFolder, load_weights
from oreqa.runtime.reader import HeadBatch
from oreqa.runtime.torch_session import torch_precision, usable_device

Outputs = Iterator[tuple[HeadBatch, list[NDArray[Any]]]]


class TorchHeads:
    """The same computation as OpenVinoHeads', on ``device`` (in f32 where that is the CPU)."""

    def __init__(
        self, reader: HeadFolder, reranker: HeadFolder | None, device: str = "cuda", precision: str | None = None
    ) -> None:
        usable_device(device)
        from oreqa.models.reader import Reader
        from oreqa.models.reranker import Reranker

        self._device = device
        dtype = torch_precision(device, precision)
        self._reader = _load(Reader, reader, device, dtype)
        self._reranker = None if reranker is None else _load(Reranker, reranker, device, dtype)

    def read(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Start and end ``[batch, tokens]`` and selection ``[batch]``."""
        return _run(self._reader, batches, self._device)

    def rerank(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Scores ``[batch]``."""
        return _run(self._reranker, batches, self._device)


class TorchClassifier:
    """The same computation as OpenVinoClassifier's, on ``device`` (in f32 where that is the CPU)."""

    def __init__(self, folder: HeadFolder, device: str = "cuda", precision: str | None = None) -> None:
        usable_device(device)
        from transformers import BertForSequenceClassification

        self._device = device
        self._model = _load(BertForSequenceClassification, folder, device, torch_precision(device, precision))

    def run(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Logits ``[batch]``."""
        for batch, (logits,) in _run(self._model, batches, self._device):
            yield batch, [logits[:, -1] - logits[:, 0] if logits.shape[1] > 1 else logits[:, 0]]


def _load(kind: Any, folder: HeadFolder, device: str, dtype: Any) -> Any:
    import torch
    from transformers import BertConfig

    model = kind(BertConfig(**{name: value for name, value in folder.config.items() if name != "model_type"}))
    tensors = {name: torch.from_numpy(value) for name, value in load_weights(folder.path).items()}
    try:
        model.load_state_dict(tensors, strict=False)
    except RuntimeError as error:
        raise ModelError(f"{folder.path}: its tensors do not fit its config.json") from error
    if kind.__name__ == "Reader" and "qa_classifier.weight" not in tensors:
        torch.nn.init.zeros_(model.qa_classifier.weight)
        torch.nn.init.zeros_(model.qa_classifier.bias)
    return model.to(device, dtype).eval()


def _run(model: Any, batches: Iterator[HeadBatch], device: str) -> Outputs:
    import torch

    for batch in batches:
        with torch.inference_mode():
            out = model(*(torch.from_numpy(x).to(device) for x in (batch.ids, batch.mask, batch.types)))
        outputs = out.values() if isinstance(out, dict) else out if isinstance(out, tuple) else (out,)
        yield batch, [np.asarray(x.float().cpu()) for x in outputs]
