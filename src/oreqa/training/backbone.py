"""Models initialised from another one: its encoder, its settings, and frozen layers of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

from oreqa.errors import InputError, ModelError
from oreqa.models.encoder.folder import EncoderFolder, NewEncoder, read_encoder_folder
from oreqa.models.encoder.module import QUERY_TOKEN_TYPE, DualEncoder, Tower, load_pooling, load_tokens
from oreqa.models.encoder.pooling import load_dense
from oreqa.models.graph.module import has_segments, model_config
from oreqa.models.names import read_config
from oreqa.models.settings import RECURRENT, encoder_prefix, input_positions
from oreqa.models.weights import load_weights
from oreqa.training.lora import add_lora
from oreqa.training.recipes import Lora

_NOT_KEPT = ("oreqa", "architectures", "transformers_version", "dtype", "torch_dtype")


def check_positions(backbone: Path, **tokens: int) -> None:
    """Raise InputError if a model has too few positions for an input of the ``tokens``, given by recipe key."""
    positions = input_positions(read_config(backbone), backbone, minimum=0)
    if sum(tokens.values()) > positions:
        keys, verb = " and ".join(f"{key} = {value}" for key, value in tokens.items()), "is" if len(tokens) == 1 else "are"
        raise InputError(
            f"{keys} {verb} more than the {positions} positions of {backbone.name}: set {' or '.join(tokens)} lower"
        )


_RATES = {
    "distilbert": (("dropout", "seq_classif_dropout"), ("attention_dropout",)),
    "modernbert": (("embedding_dropout", "mlp_dropout", "classifier_dropout"), ("attention_dropout",)),
}
"""Names of the dropout rates, and of attention's, where they differ from BERT's."""


def dropout_rates(model_type: str, dropout: float | None, attention: float | None = None) -> dict[str, float]:
    """Return an architecture's dropout settings.

    ``attention`` defaults to ``dropout``, and ``dropout`` to the backbone's.
    """
    others, attention_names = _RATES.get(model_type, (("hidden_dropout_prob",), ("attention_probs_dropout_prob",)))
    attention = dropout if attention is None else attention
    rates = [*((name, dropout) for name in others), *((name, attention) for name in attention_names)]
    return {name: rate for name, rate in rates if rate is not None}


def embeddings_of(backbone: PreTrainedModel) -> list[nn.Module]:
    """Return an encoder's modules below its layers: embeddings, ELECTRA's projection of them, MPNet's position bias."""
    names = ("embeddings", "embeddings_project", "relative_attention_bias")
    return [module for name, module in backbone.named_modules() if name.rpartition(".")[2] in names]


def layers_of(backbone: PreTrainedModel) -> nn.ModuleList:
    """Return an encoder's layers, the lowest first."""
    count = backbone.config.num_hidden_layers
    return next(module for module in backbone.modules() if isinstance(module, nn.ModuleList) and len(module) == count)


def kept_separators(backbone: Path) -> dict[str, int]:
    """Return a reader folder's setting ``separators``, if any: further training must read the same inputs."""
    settings = read_config(backbone).get("oreqa") or {}
    return {"separators": settings["separators"]} if "separators" in settings else {}


M = TypeVar("M", bound=PreTrainedModel)


def start_headed(
    kind: Callable[[PreTrainedConfig], M],
    base: Path,
    *,
    dropout: float | None,
    attention_dropout: float | None = None,
    freeze_embeddings: bool = False,
    frozen_layers: int = 0,
    head: bool = False,
    lora: Lora | None = None,
    **settings: Any,
) -> M:
    """Return a ``kind`` initialised with the encoder of the folder ``base``, and with its ``head`` or a new one.

    The default rates of ``dropout`` are those of ``base``, which may be stored as a difference. The lowest
    ``frozen_layers`` are frozen, and with ``freeze_embeddings`` the embeddings; with ``lora`` the whole encoder is
    frozen, and factors beside it are trained. Raises InputError for a recurrent encoder, ModelError if its weights are
    missing or do not fit.
    """
    content = read_config(base)
    if content.get("model_type") == RECURRENT:
        raise InputError(f"{base}: its layers are recurrent ({content.get('cell')}); name a transformer to begin with")
    config = {key: value for key, value in content.items() if key not in _NOT_KEPT}
    rates = dropout_rates(str(content.get("model_type")), dropout, attention_dropout)
    model: M = kind(model_config({**config, **rates, **settings}))
    prefix = encoder_prefix(content)
    tensors = {name: torch.from_numpy(value) for name, value in load_weights(base).items()}
    chosen = {name: value for name, value in tensors.items() if head or name.startswith(prefix)}
    missing = [name for name in model.load_state_dict(chosen, strict=False).missing_keys if name.startswith(prefix)]
    if missing := [name for name in missing if not name.startswith(f"{prefix}pooler.")]:
        raise ModelError(f"{base}: the model's weights lack {missing[0]}")
    if freeze_embeddings:
        for module in embeddings_of(model.base_model):
            module.requires_grad_(False)
    layers = layers_of(model.base_model)
    for layer in layers[:frozen_layers]:
        layer.requires_grad_(False)
    if lora is not None:
        add_lora(model.base_model, lora, layers[frozen_layers:])
    return model


NEW_LAYERS = 2
"""Layers of a new encoder (Wang et al. 2021, section 4.4)."""


def trainable_encoder(path: Path) -> EncoderFolder:
    """Return the settings of an encoder's folder. Raises InputError for static embeddings."""
    folder = read_encoder_folder(path)
    if folder.static:
        raise InputError(f"{path}: its embeddings are static, with no layers to train; name a transformer to begin with")
    return folder


def start_encoder(
    backbone: Path, settings: dict[str, Any], dropout: float | None, encoder: NewEncoder | None = None
) -> DualEncoder:
    """Return a dual encoder initialised from an encoder's folder. ``settings`` become ``config.oreqa``.

    Two encoders start from the backbone's two, or both from its one; with ``encoder`` they are new ones of that kind,
    with only the embeddings of the backbone. The backbone's attention is kept if it has the requested number of hops,
    and its projection if it has the width. The question's token type starts as a copy of type 0, so that the untrained
    model computes what the backbone does.

    Raises ModelError if the backbone has two encoders, and one is requested or their shapes differ, or if its projection of
    that width is not a single linear layer.
    """
    passages = trainable_encoder(backbone)
    questions = passages.questions or passages
    config = _config(passages, encoder)
    config.oreqa = settings
    for name, rate in dropout_rates(config.model_type, dropout).items():
        setattr(config, name, rate)
    model = DualEncoder(config)
    if passages.questions and model.questions is None:
        raise ModelError(f"{backbone}: it has an encoder of questions and one of passages; set towers=separate")
    if unlike := [key for key in _SHAPE if passages.config.get(key) != questions.config.get(key)]:
        raise ModelError(f"{backbone}: its two encoders differ in {', '.join(unlike)}; only two of one shape are trained")
    for tower, folder in zip(model.towers, (passages, questions), strict=False):
        _load_tower(tower, folder, config, new=encoder is not None)
    if settings["query_token_type"]:
        _add_question_type(model, backbone)
    return model


def _add_question_type(model: DualEncoder, path: Path) -> None:
    """Add the token type of questions, a copy of type 0. Raises InputError for an architecture without token types."""
    backbone = model.passages.backbone
    if not has_segments(backbone):
        raise InputError(
            f"{path}: input_types needs a backbone with token types, as BERT and ELECTRA have; "
            f"{backbone.config.model_type} has none: set input_types=false"
        )
    types = backbone.embeddings.token_type_embeddings
    extended = nn.Embedding(QUERY_TOKEN_TYPE + 1, types.embedding_dim)
    with torch.no_grad():
        extended.weight[: types.num_embeddings] = types.weight
        extended.weight[types.num_embeddings :] = types.weight[0]
    backbone.embeddings.token_type_embeddings = extended
    model.config.type_vocab_size = backbone.config.type_vocab_size = QUERY_TOKEN_TYPE + 1


_SHAPE = (
    "model_type", "cell", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
    "vocab_size", "max_position_embeddings", "type_vocab_size", "embedding_size", "dim", "n_layers", "n_heads", "hidden_dim",
    "activation", "hidden_activation", "relative_attention_num_buckets", "layer_types", "local_attention",
)  # fmt: skip
"""Settings that must be equal for two encoders of one shape."""


def _config(folder: EncoderFolder, encoder: NewEncoder | None) -> PreTrainedConfig:
    settings = {key: value for key, value in folder.config.items() if key not in _NOT_KEPT}
    if encoder is None:
        return model_config(settings)
    if encoder == "transformer" and folder.cell is None:
        layers = {"num_hidden_layers": NEW_LAYERS, "n_layers": NEW_LAYERS, "layer_types": None}
        return model_config({**settings, **{key: value for key, value in layers.items() if key in settings}})
    if settings["model_type"] not in ("bert", RECURRENT):
        raise InputError(
            f"{folder.path}: encoder = {encoder} needs the token embeddings of a BERT; this is a {settings['model_type']}"
        )
    if encoder != "transformer" and settings["hidden_size"] % 2:
        raise ModelError(f"{folder.path}: recurrent layers need an even hidden_size, not {settings['hidden_size']}")
    kind = {"model_type": "bert"} if encoder == "transformer" else {"model_type": RECURRENT, "cell": encoder}
    return model_config({**settings, "cell": None, "num_hidden_layers": NEW_LAYERS, **kind})


def _load_tower(tower: Tower, folder: EncoderFolder, config: PreTrainedConfig, new: bool) -> None:
    if new:
        for module, start in zip(embeddings_of(tower.backbone), embeddings_of(load_tokens(folder)), strict=True):
            module.load_state_dict(start.state_dict())
        return
    tower.backbone = load_tokens(folder, config)
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
