"""A dual encoder with what learns beside it and is left behind: a cross-encoder that teaches it, or text decoders."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from oreqa.models.encoder.module import DualEncoder
from oreqa.training.retriever.cross_side import CrossSide, start_cross
from oreqa.training.retriever.variational import VariationalDecoders


class RetrieverModel(nn.Module):  # type: ignore[misc]
    """What a retriever's training trains. ``batches`` counts the batches so far; it is saved with every checkpoint."""

    def __init__(
        self, encoder: DualEncoder, cross: CrossSide | None = None, decoders: VariationalDecoders | None = None
    ) -> None:
        super().__init__()
        self.encoder, self.cross, self.decoders = encoder, cross, decoders
        self.batches: Tensor
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))

    def forward(self, **inputs: Any) -> Tensor:
        """The dual encoder's vectors; with ``passages`` among the inputs, the cross-encoder's of pairs."""
        module = self.encoder if self.cross is None or "passages" not in inputs else self.cross
        vectors: Tensor = module(**inputs)
        return vectors


def start_model(
    encoder: DualEncoder, *, with_cross: bool = False, decoders: Literal["dual", "cross"] | None = None
) -> RetrieverModel:
    """The encoder with new companions: a cross-encoder, or ``decoders`` of a kind of ``VariationalDecoders``."""
    of_texts = None
    if decoders is not None:
        of_texts = VariationalDecoders(encoder.width, encoder.config.hidden_size, decoders, unit_length=encoder.normalise)
    return RetrieverModel(encoder, start_cross(encoder) if with_cross else None, of_texts)
