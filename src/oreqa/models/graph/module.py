"""Token encoders in torch, of any architecture: transformers' own classes, never remote code."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, cast

from torch import Tensor, nn
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.models.mpnet.modeling_mpnet import MPNetSelfAttention

from oreqa.errors import ModelError


def model_config(settings: Mapping[str, Any]) -> PreTrainedConfig:
    """Return the configuration in a config.json. Raises ModelError for a model type that transformers does not have."""
    model_type = str(settings.get("model_type"))
    model_type = "bert" if model_type == "dpr" else model_type  # DPR's encoders and reader are BERTs under another name
    if model_type not in CONFIG_MAPPING:
        raise ModelError(f"transformers has no model type {model_type!r}: models with code of their own are not run")
    return CONFIG_MAPPING[model_type].from_dict({**settings, "model_type": model_type})


def new_backbone(config: PreTrainedConfig, pooler: bool = False) -> PreTrainedModel:
    """Return a new encoder without a head; with a ``pooler`` if requested and supported by the architecture."""
    options = {"add_pooling_layer": pooler}
    kind = AutoModel._model_mapping[type(config)]
    model = AutoModel.from_config(config, **(options if "add_pooling_layer" in signature(kind).parameters else {}))
    return fuse_attention(model)


class _FusedAttention(MPNetSelfAttention):  # type: ignore[misc]
    """MPNet's attention in one kernel, with the position bias as part of its mask.

    A training step takes a third less on a CPU than with transformers, which computes it in parts.
    """

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
    """Return the same model, with one-kernel attention if it is an MPNet: other architectures have that already."""
    for module in model.modules():
        if type(module) is MPNetSelfAttention:
            module.__class__ = _FusedAttention
    return model


def has_segments(backbone: PreTrainedModel) -> bool:
    """Return whether an encoder distinguishes the segments of a pair."""
    return getattr(backbone.config, "type_vocab_size", 0) > 1 and "token_type_ids" in signature(backbone.forward).parameters


def encode_tokens(backbone: PreTrainedModel, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Any:
    """Return the encoder's output for inputs ``[N, T]``: its ``last_hidden_state`` is ``[N, T, H]``.

    ``token_type_ids`` are omitted if the encoder has no segments.
    """
    segments = {"token_type_ids": token_type_ids} if has_segments(backbone) else {}
    return backbone(input_ids=input_ids, attention_mask=attention_mask, **segments)


class HeadedModel(PreTrainedModel):  # type: ignore[misc]
    """An encoder under its attribute name in transformers' classes, such as ``bert`` or ``mpnet``; families add their heads.

    Saved tensors have the names of transformers' classes, which can load them. A subclass ends its ``__init__`` with
    ``self.post_init()``.
    """

    config_class = PreTrainedConfig
    _supports_sdpa = True

    def __init__(self, config: PreTrainedConfig, pooler: bool = False) -> None:
        backbone = new_backbone(config, pooler)  # first: it sets the attention implementation that its architecture supports
        super().__init__(config)
        self.base_model_prefix = backbone.base_model_prefix
        setattr(self, self.base_model_prefix, backbone)

    @property
    def backbone(self) -> PreTrainedModel:
        """The encoder."""
        return cast(PreTrainedModel, getattr(self, self.base_model_prefix))

    def states(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the token states ``[N, T, H]`` of inputs ``[N, T]``."""
        states: Tensor = encode_tokens(self.backbone, input_ids, attention_mask, token_type_ids).last_hidden_state
        return states
