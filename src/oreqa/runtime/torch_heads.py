"""Reader and re-ranker on a GPU through torch and transformers (the ``train`` extra)."""

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
        torch = usable_device(device)
        from oreqa.models.reader import Reader
        from oreqa.models.reranker import Reranker

        self._torch, self._device = torch, device
        self._precision = torch.bfloat16 if device == "cuda" else torch.float32
        self._reader = self._load(Reader, reader)
        self._reranker = None if reranker is None else self._load(Reranker, reranker)

    def _load(self, kind: Any, folder: HeadFolder) -> Any:
        from transformers import BertConfig

        model = kind(BertConfig(**{name: value for name, value in folder.config.items() if name != "model_type"}))
        tensors = {name: self._torch.from_numpy(value) for name, value in load_weights(folder.path).items()}
        model.load_state_dict(tensors, strict=False)
        if kind.__name__ == "Reader" and "qa_classifier.weight" not in tensors:
            self._torch.nn.init.zeros_(model.qa_classifier.weight)
            self._torch.nn.init.zeros_(model.qa_classifier.bias)
        return model.to(self._device, self._precision).eval()

    def read(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Start and end ``[batch, tokens]`` and selection ``[batch]``."""
        return self._run(self._reader, batches)

    def rerank(self, batches: Iterator[HeadBatch]) -> Outputs:
        """Scores ``[batch]``."""
        return self._run(self._reranker, batches)

    def _run(self, model: Any, batches: Iterator[HeadBatch]) -> Outputs:
        for batch in batches:
            with self._torch.inference_mode():
                inputs = (self._torch.from_numpy(x).to(self._device) for x in (batch.ids, batch.mask, batch.types))
                out = model(*inputs)
            outputs = out if isinstance(out, tuple) else (out,)
            yield batch, [np.asarray(x.float().cpu()) for x in outputs]
