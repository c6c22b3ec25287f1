"""Run the question generator on a GPU with torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oreqa.models.generator.decoding import Floats
from oreqa.models.generator.folder import GeneratorFolder, head_weights
from oreqa.models.graph.torch import load_module, usable_device
from oreqa.models.graph.weights import load_weights


class TorchDecoder:
    """A batch of prefixes; see ``Decoder``."""

    def __init__(self, module: Any, device: str) -> None:
        self._module, self._device = module, device
        self._cache: Any = None
        self._visible: Any = None
        self._positions: Any = None

    def start(self, prefixes: Sequence[Sequence[int]]) -> Floats:
        """As ``Decoder.start``."""
        import torch
        from transformers import DynamicCache

        self._cache = DynamicCache(config=self._module.config)
        rows = [torch.tensor(prefix) for prefix in prefixes]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(self._device)
        lengths = torch.tensor([len(prefix) for prefix in prefixes], device=self._device)
        places = torch.arange(ids.shape[1], device=self._device)
        self._visible = places < lengths[:, None]
        self._positions = lengths[:, None]
        return self._run(ids, torch.zeros_like(ids), places.expand_as(ids), lengths - 1)

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> Floats:
        """As ``Decoder.step``."""
        import torch

        ids = torch.tensor(tokens, device=self._device)[:, None]
        chosen = torch.tensor(rows, device=self._device)
        self._cache.batch_select_indices(chosen)
        positions = self._positions[chosen]
        self._visible = torch.cat([self._visible[chosen], torch.ones_like(ids, dtype=torch.bool)], dim=1)
        self._positions = positions + 1
        return self._run(ids, torch.ones_like(ids), positions, torch.zeros_like(chosen))

    def _run(self, ids: Any, types: Any, positions: Any, last: Any) -> Floats:
        import torch

        # A float mask: transformers' eager attention adds it to the scores.
        dtype = self._module.dtype
        mask = torch.zeros(self._visible.shape, dtype=dtype, device=self._device)
        mask = mask.masked_fill(~self._visible, torch.finfo(dtype).min)[:, None, None]
        with torch.inference_mode():
            hidden = self._module.bert(
                ids, mask.expand(-1, 1, ids.shape[1], -1), types, positions, past_key_values=self._cache, use_cache=True
            ).last_hidden_state
            logits = self._module.cls(hidden[torch.arange(len(ids), device=self._device), last])
        return np.asarray(logits.float().cpu())


class TorchDecoders:
    """A generator on a device; one decoder at a time keeps it busy."""

    width = 1

    def __init__(self, module: Any, device: str) -> None:
        self._module, self._device = module, device

    def decoder(self) -> TorchDecoder:
        """Return a new decoder."""
        return TorchDecoder(self._module, self._device)


def open_session(folder: GeneratorFolder, precision: str | None, device: str = "cuda") -> TorchDecoders:
    """Return the generator on ``device`` (always in f32 if that is the CPU)."""
    usable_device(device)
    from oreqa.models.generator.module import BertGenerator

    weights = load_weights(folder.path)
    head_weights(folder, weights)  # says what is missing
    return TorchDecoders(load_module(BertGenerator, folder, weights, device, precision), device)
