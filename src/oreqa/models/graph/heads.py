"""The layers between the hidden states and the output layer in transformers' heads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.layers import Graph, dense, ints, layer_norm
from oreqa.models.graph.quiet_openvino import op
from oreqa.models.settings import hidden_size
from oreqa.models.weights import head_layer

_ACTIVATIONS = {"bert.pooler.dense": "tanh", "classifier.dense": "tanh", "pre_classifier": "relu", "head.dense": "gelu"}


def before_output(x: Any, weights: Mapping[str, np.ndarray], path: Path, config: Mapping[str, Any]) -> Any:
    """Apply the head's layer before the output layer, if any, to ``x`` ``[..., width]``.

    Raises ModelError for a layer that does not fit the encoder, and for an unknown activation.
    """
    name = head_layer(weights)
    if name is None:
        return x
    weight, bias = weights[f"{name}.weight"], weights.get(f"{name}.bias")
    width = hidden_size(config, path)
    if weight.shape != (width, width) or (bias is not None and bias.shape != (width,)):
        raise ModelError(f"{path}: its {name} of shape {weight.shape} does not fit a model of hidden_size {width}")
    activation = "gelu" if config.get("model_type") == "electra" else config.get("classifier_activation", _ACTIVATIONS[name])
    if activation not in ("tanh", "gelu", "relu"):
        raise ModelError(f"{path}: the activation {activation!r} of its head is not supported; supported: tanh, gelu, relu")
    x = dense(x, weight, bias, activation)
    if (scale := weights.get("head.norm.weight")) is None:
        return x
    shift = weights.get("head.norm.bias", np.zeros(width, np.float32))
    return layer_norm(x, op.constant(scale), op.constant(shift), config.get("norm_eps", 1e-5))


def mean_of_tokens(graph: Graph) -> Any:
    """Return the mean of the hidden states of an input's tokens, ``[batch, width]``."""
    tokens = op.unsqueeze(op.convert(graph.inputs["attention_mask"], np.float32), ints(2))
    total = op.reduce_sum(op.multiply(graph.hidden, tokens), ints(1), False)
    return op.divide(total, op.reduce_sum(tokens, ints(1), False))
