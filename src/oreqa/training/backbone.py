"""Models that begin as another one: its encoder, its settings, and layers of it that are kept as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import BertConfig, BertPreTrainedModel

from oreqa.errors import InputError
from oreqa.models.names import RECURRENT, read_config, read_json_file, whole_number
from oreqa.models.weights import load_weights


def check_positions(backbone: Path, **tokens: int) -> None:
    """Raise InputError if a model has no positions for an input of the ``tokens``, which are named by their recipe keys."""
    positions = whole_number(read_config(backbone), "max_position_embeddings", backbone, 512)
    if sum(tokens.values()) > positions:
        keys, verb = " and ".join(f"{key} = {value}" for key, value in tokens.items()), "is" if len(tokens) == 1 else "are"
        raise InputError(
            f"{keys} {verb} more than the {positions} positions of {backbone.name}: set {' or '.join(tokens)} lower"
        )


M = TypeVar("M", bound=BertPreTrainedModel)


def start_bert(
    kind: type[M],
    base: Path,
    *,
    dropout: float | None,
    freeze_embeddings: bool = False,
    frozen_layers: int = 0,
    head: bool = False,
    **settings: Any,
) -> M:
    """A ``kind`` with the encoder of the folder ``base``, and with its ``head`` or a new one.

    Without ``dropout`` the rates are those of ``base``, which may be stored as a difference from another model. The lowest
    ``frozen_layers`` are kept as they are, and with ``freeze_embeddings`` its embeddings. Raises InputError if the encoder
    is a recurrent one.
    """
    content = read_json_file(base / "config.json")
    if content.get("model_type") == RECURRENT:
        raise InputError(f"{base}: its layers are recurrent ({content.get('cell')}); name a BERT to begin with")
    config = {key: value for key, value in content.items() if key not in _NOT_KEPT}
    rates = {} if dropout is None else {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    model: M = kind(BertConfig(**{**config, **rates, **settings}))
    tensors = {name: torch.from_numpy(value) for name, value in load_weights(base).items()}
    model.load_state_dict({name: v for name, v in tensors.items() if head or name.startswith("bert.")}, strict=False)
    if freeze_embeddings:
        model.bert.embeddings.requires_grad_(False)
    for layer in model.bert.encoder.layer[:frozen_layers]:
        layer.requires_grad_(False)
    return model


_NOT_KEPT = ("oreqa", "architectures", "transformers_version", "dtype", "model_type")
