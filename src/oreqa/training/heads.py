"""Models that begin as another one: its encoder, its settings, and layers of it that are kept as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import BertConfig, BertPreTrainedModel

from oreqa.models.folders import read_json_file
from oreqa.models.heads import load_weights

M = TypeVar("M", bound=BertPreTrainedModel)


def start_from(kind: type[M], base: Path, frozen_layers: int, dropout: float, **settings: Any) -> M:
    """A ``kind`` with the encoder of the folder ``base``, a new head, and frozen embeddings and ``frozen_layers``."""
    config = {key: value for key, value in read_json_file(base / "config.json").items() if key not in _NOT_KEPT}
    rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    model: M = kind(BertConfig(**{**config, **rates, **settings}))
    tensors = {name: torch.from_numpy(value) for name, value in load_weights(base).items()}
    model.load_state_dict({name: value for name, value in tensors.items() if name.startswith("bert.")}, strict=False)
    model.bert.embeddings.requires_grad_(False)
    for layer in model.bert.encoder.layer[:frozen_layers]:
        layer.requires_grad_(False)
    return model


_NOT_KEPT = ("oreqa", "architectures", "transformers_version", "dtype", "model_type")
