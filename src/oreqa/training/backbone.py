"""Models that begin as another one: its encoder, its settings, and layers of it that are kept as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn
from transformers import BertConfig, BertPreTrainedModel

from oreqa.errors import InputError, ModelError
from oreqa.models.encoder.folder import EncoderFolder, NewEncoder, load_dense, read_encoder_folder
from oreqa.models.encoder.module import QUERY_TOKEN_TYPE, DualEncoder, RecurrentConfig, Tower, load_pooling, load_tokens
from oreqa.models.names import RECURRENT, input_positions, read_config, read_json_file
from oreqa.models.weights import load_weights

_NOT_KEPT = ("oreqa", "architectures", "transformers_version", "dtype", "model_type")


def check_positions(backbone: Path, **tokens: int) -> None:
    """Raise InputError if a model has no positions for an input of the ``tokens``, which are named by their recipe keys."""
    positions = input_positions(read_config(backbone), backbone, minimum=0)
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


NEW_LAYERS = 2
"""Layers of a new encoder (Wang et al. 2021, section 4.4)."""


def start_encoder(
    backbone: Path, settings: dict[str, Any], dropout: float | None, encoder: NewEncoder | None = None
) -> DualEncoder:
    """Return a dual encoder initialised from an encoder's folder. ``settings`` become ``config.oreqa``.

    Two encoders begin as the backbone's two, or both as its one; with ``encoder`` they are new ones of that kind, and only
    their embeddings are the backbone's. The backbone's attention is kept if it has as many hops as are asked for, and its
    projection if it has the width. The question's token type starts as a copy of type 0, so that the untrained model
    computes what the backbone does.

    Raises ModelError if the backbone has two encoders, and one is asked for or their shapes differ, or if its projection of
    that width is no single linear layer.
    """
    passages = read_encoder_folder(backbone)
    questions = passages.questions or passages
    config = _config(passages, encoder)
    config.oreqa = settings
    if dropout is not None:
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    model = DualEncoder(config)
    if passages.questions and model.questions is None:
        raise ModelError(f"{backbone}: it has an encoder of questions and one of passages; set towers=separate")
    if unlike := [key for key in _SHAPE if passages.config.get(key) != questions.config.get(key)]:
        raise ModelError(f"{backbone}: its two encoders differ in {', '.join(unlike)}; only two of one shape are trained")
    for tower, folder in zip(model.towers, (passages, questions), strict=False):
        _load_tower(tower, folder, config, new=encoder is not None)
    if settings["query_token_type"]:
        embeddings = model.passages.bert.embeddings
        types = embeddings.token_type_embeddings
        extended = nn.Embedding(QUERY_TOKEN_TYPE + 1, config.hidden_size)
        with torch.no_grad():
            extended.weight[: types.num_embeddings] = types.weight
            extended.weight[types.num_embeddings :] = types.weight[0]
        embeddings.token_type_embeddings = extended
        config.type_vocab_size = model.config.type_vocab_size = QUERY_TOKEN_TYPE + 1
    return model


_SHAPE = (
    "model_type", "cell", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
    "vocab_size", "max_position_embeddings", "type_vocab_size",
)  # fmt: skip
"""Settings that two encoders of one shape have in common."""


def _config(folder: EncoderFolder, encoder: NewEncoder | None) -> BertConfig:
    if encoder is None:
        return (BertConfig if folder.cell is None else RecurrentConfig).from_pretrained(folder.settings)
    settings = BertConfig.from_pretrained(folder.settings).to_dict() | {"num_hidden_layers": NEW_LAYERS}
    for key in ("model_type", "cell", "oreqa"):
        settings.pop(key, None)
    if encoder == "transformer":
        return BertConfig(**settings)
    if settings["hidden_size"] % 2:
        raise ModelError(f"{folder.path}: recurrent layers need an even hidden_size, not {settings['hidden_size']}")
    return RecurrentConfig(**settings, cell=encoder)


def _load_tower(tower: Tower, folder: EncoderFolder, config: BertConfig, new: bool) -> None:
    if new:
        tower.bert.embeddings.load_state_dict(load_tokens(folder).embeddings.state_dict())
        return
    tower.bert = load_tokens(folder, config)
    if tower.attention is not None and folder.attention is not None:
        attention = load_pooling(folder.attention)
        if (attention.hidden, attention.hops) == (tower.attention.hidden, tower.attention.hops):
            tower.attention.load_state_dict(attention.state_dict())
    _copy_projection(folder, tower.projection)


def _copy_projection(folder: EncoderFolder, projection: nn.Linear | None) -> None:
    if projection is None or not folder.dense or folder.width != projection.out_features:
        return
    if len(folder.dense) > 1 or folder.dense[0].activation != "identity":
        raise ModelError(
            f"{folder.path}: its projection to {projection.out_features} dimensions is no single linear layer; "
            "set projection to another width, for a new layer"
        )
    weight, bias = load_dense(folder.dense[0])
    with torch.no_grad():
        projection.weight.copy_(torch.from_numpy(weight))
        projection.bias.copy_(torch.zeros_like(projection.bias) if bias is None else torch.from_numpy(bias))
