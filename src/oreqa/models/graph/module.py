"""Encoders of tokens in torch, of any architecture: transformers' own classes, never remote code."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, cast

from torch import Tensor, nn
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.models.mpnet.modeling_mpnet import MPNetSelfAttention

from oreqa.errors import ModelError


def model_config(settings: Mapping[str, Any]) -> PreTrainedConfig:
    """The configuration that a config.json describes. Raises ModelError for a model type that transformers does not have."""
    model_type = str(settings.get("model_type"))
    model_type = "bert" if model_type == "dpr" else model_type  # DPR's encoders and reader are BERTs under another name
    if model_type not in CONFIG_MAPPING:
        raise ModelError(f"transformers has no model type {model_type!r}: models with code of their own are not run")
    return CONFIG_MAPPING[model_type].from_dict({**settings, "model_type": model_type})


def new_backbone(config: PreTrainedConfig, pooler: bool = False) -> PreTrainedModel:
    """A new encoder without a head; with a ``pooler`` if that is asked for, and its architecture has one."""
    options = {"add_pooling_layer": pooler}
    kind = AutoModel._model_mapping[type(config)]
    model = AutoModel.from_config(config, **(options if "add_pooling_layer" in signature(kind).parameters else {}))
    return fuse_attention(model)


class _FusedAttention(MPNetSelfAttention):  # type: ignore[misc]
    """MPNet's attention in one kernel, with the bias of positions as part of its mask: a step of training takes a third less
    on a CPU. transformers computes it in parts."""

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, position_bias: Tensor | None = None, **_: Any
    ) -> tuple[Tensor]:
        shape = (*hidden_states.shape[:-1], -1, self.attention_head_size)
        query, key, value = (layer(hidden_states).view(shape).transpose(1, 2) for layer in (self.q, self.k, self.v))
        biases = [bias for bias in (position_bias, attention_mask) if bias is not None]
        mask = sum(biases[1:], start=biases[0]).to(query.dtype) if biases else None
        rate = self.dropout.p if self.training else 0.0
        states = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
        return (self.o(states.transpose(1, 2).flatten(2)),)


def fuse_attention(model: PreTrainedModel) -> PreTrainedModel:
    """The same model, whose attention is computed in one kernel if it is an MPNet: other architectures have that already."""
    for module in model.modules():
        if type(module) is MPNetSelfAttention:
            module.__class__ = _FusedAttention
    return model


def has_segments(backbone: PreTrainedModel) -> bool:
    """Whether an encoder tells the segments of a pair apart."""
    return getattr(backbone.config, "type_vocab_size", 0) > 1 and "token_type_ids" in signature(backbone.forward).parameters


def encode_tokens(backbone: PreTrainedModel, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Any:
    """What the encoder makes of inputs ``[N, T]``: its ``last_hidden_state`` is ``[N, T, H]``.

    ``token_type_ids`` are left out if the encoder has no segments.
    """
    segments = {"token_type_ids": token_type_ids} if has_segments(backbone) else {}
    return backbone(input_ids=input_ids, attention_mask=attention_mask, **segments)


class HeadedModel(PreTrainedModel):  # type: ignore[misc]
    """An encoder under the name that transformers' own classes give it, as ``bert`` and ``mpnet``; a family adds its heads.

    Saved tensors have the names of transformers' classes, which can load them. A subclass ends its ``__init__`` with
    ``self.post_init()``.
    """

    config_class = PreTrainedConfig
    _supports_sdpa = True

    def __init__(self, config: PreTrainedConfig, pooler: bool = False) -> None:
        backbone = new_backbone(config, pooler)  # first: it knows which attention its architecture has
        super().__init__(config)
        self.base_model_prefix = backbone.base_model_prefix
        setattr(self, self.base_model_prefix, backbone)

    @property
    def backbone(self) -> PreTrainedModel:
        """The encoder."""
        return cast(PreTrainedModel, getattr(self, self.base_model_prefix))

    def states(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """The states ``[N, T, H]`` of the tokens of inputs ``[N, T]``."""
        states: Tensor = encode_tokens(self.backbone, input_ids, attention_mask, token_type_ids).last_hidden_state
        return states
