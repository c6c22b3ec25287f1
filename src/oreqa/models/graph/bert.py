"""The OpenVINO graph of a BERT encoder (Devlin et al. 2019), built directly from a model folder's safetensors.

It needs no torch and no export: ``config.json`` gives the shape and ``model.safetensors`` the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.layers import Constants, Graph, activate, embed_tokens, first_token, ints, token_inputs
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.names import whole_number


def bert_graph(
    folder: Path,
    weights: Mapping[str, np.ndarray],
    config: Mapping[str, Any],
    eight_bits: bool = False,
    cls_only: bool = False,
    cached: bool = False,
) -> Graph:
    """Build BERT's encoder: embeddings, then ``num_hidden_layers`` post-norm Transformer layers.

    ``eight_bits`` quantises the layers' matrices to int8 with one scale per row. ``cls_only`` computes the last layer for
    [CLS] alone: ``hidden`` is then ``[batch, 1, width]``, with the same values at less cost. ``folder`` is the model's
    folder, for error messages.

    ``cached`` keeps the layers' keys and values from call to call: the tokens of a call see those of the calls before it.
    There are two more inputs: ``position_ids`` (``[batch, tokens]``) and ``rows`` (``[batch]``), the number that each row
    had in the call before; ``attention_mask`` is ``[batch, earlier tokens + tokens]``.

    Raises ModelError if a tensor is missing or does not have the shape that ``config`` implies.
    """
    tensors = Constants(folder, weights, config)
    heads, depth = (whole_number(config, name, folder, minimum=1) for name in ("num_attention_heads", "num_hidden_layers"))
    if tensors.width % heads:
        raise ModelError(f"{folder}: its hidden_size {tensors.width} is not a multiple of its num_attention_heads {heads}")
    inputs = token_inputs()
    if cached:
        inputs["position_ids"] = op.parameter([-1, -1], np.int64, "position_ids")
        inputs["rows"] = op.parameter([-1], np.int32, "rows")
    x, words = embed_tokens(tensors, inputs, inputs.get("position_ids"))
    layers = _Layers(tensors, heads, _padding_bias(inputs["attention_mask"]), inputs if cached else None, eight_bits)
    for layer in range(depth):
        x = layers.apply(x, f"encoder.layer.{layer}", config, cls_only and layer == depth - 1)
    return Graph(inputs, x, words, tuple(layers.sinks))


def _padding_bias(mask: Any) -> Any:
    """The bias of the attention, ``[batch, 1, 1, tokens]``: 0 for tokens, a large negative number for padding."""
    is_token = op.unsqueeze(op.convert(mask, np.float32), ints(1, 2))
    return op.multiply(op.subtract(op.constant(np.float32(1)), is_token), op.constant(np.float32(-1e9)))


class _Layers:
    """Adds Transformer layers to a graph; ``inputs`` are those of a graph that keeps keys and values, else None."""

    def __init__(
        self, tensors: Constants, heads: int, bias: Any, inputs: Mapping[str, Any] | None, eight_bits: bool
    ) -> None:
        self.sinks: list[Any] = []
        self._tensors, self._bias, self._inputs, self._eight_bits = tensors, bias, inputs, eight_bits
        self._heads, self._width = heads, tensors.width // heads

    def apply(self, x: Any, name: str, config: Mapping[str, Any], cls_only: bool) -> Any:
        """The layer ``name`` for all tokens, or for [CLS] alone."""
        norm, width, attention = self._tensors.norm, self._tensors.width, f"{name}.attention"
        key, value = (self._split(self._linear(x, f"{attention}.self.{part}", width, width)) for part in ("key", "value"))
        if self._inputs is not None:
            key = self._with_earlier(key, f"{name}.key", self._inputs)
            value = self._with_earlier(value, f"{name}.value", self._inputs)
        if cls_only:
            x = op.unsqueeze(first_token(x), ints(1))
        query = self._split(self._linear(x, f"{attention}.self.query", width, width))
        attended = op.scaled_dot_product_attention(query, key, value, self._bias)
        joined = op.reshape(op.transpose(attended, ints(0, 2, 1, 3)), ints(0, 0, width), True)
        x = op.add(self._linear(joined, f"{attention}.output.dense", width, width), x)
        x = norm(x, f"{attention}.output.LayerNorm")
        inner = activate(self._linear(x, f"{name}.intermediate.dense", None, width), config)
        return norm(op.add(self._linear(inner, f"{name}.output.dense", width, None), x), f"{name}.output.LayerNorm")

    def _linear(self, x: Any, name: str, out: int | None, into: int | None) -> Any:
        return self._tensors.linear(x, name, out, into, self._eight_bits)

    def _split(self, x: Any) -> Any:
        """``[batch, tokens, heads * width]`` to ``[batch, heads, tokens, width]``."""
        return op.transpose(op.reshape(x, ints(0, 0, self._heads, self._width), True), ints(0, 2, 1, 3))

    def _with_earlier(self, part: Any, name: str, inputs: Mapping[str, Any]) -> Any:
        """Keys or values ``[batch, heads, tokens, width]`` behind those of the calls before, and keep both."""
        axis = op.constant(np.array(0, np.int64))
        batch = op.gather(op.shape_of(inputs["input_ids"]), ints(0), axis)
        empty = op.broadcast(op.constant(np.float32(0)), op.concat([batch, ints(self._heads, 0, self._width)], 0))
        earlier = op.read_value(empty, name, np.float32, ov.PartialShape([-1, self._heads, -1, self._width]))
        both = op.concat([op.gather(earlier, inputs["rows"], axis), part], 2)
        self.sinks.append(op.assign(both, name))
        return both
