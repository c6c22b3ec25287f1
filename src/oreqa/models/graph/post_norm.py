"""Transformer layers that normalise after each sublayer: those of BERT and its successors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oreqa.models.graph.layers import (
    Constants,
    Graph,
    Options,
    activate,
    attend,
    first_row,
    first_token,
    ints,
    padding_bias,
    scalar,
    split_heads,
)
from oreqa.models.graph.quiet_openvino import op, ov


@dataclass(frozen=True, slots=True)
class LayerNames:
    """An architecture's names of its layers and their parts; BERT's by default."""

    layers: str = "encoder.layer"
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    attended: str = "attention.output.dense"
    attention_norm: str = "attention.output.LayerNorm"
    up: str = "intermediate.dense"
    down: str = "output.dense"
    norm: str = "output.LayerNorm"


def post_norm_layers(
    tensors: Constants, embedded: Graph, options: Options, names: LayerNames = LayerNames(), bias: Any | None = None
) -> Graph:
    """Add the layers to the embeddings. ``bias`` is added to the attention scores ``[batch or 1, heads, tokens, tokens]``.

    Raises ModelError if a tensor is missing or does not have the shape that the settings imply.
    """
    padding = padding_bias(embedded.inputs["attention_mask"])
    bias = padding if bias is None else op.add(bias, padding)
    layers, x = _Layers(tensors, names, options, embedded.inputs), embedded.hidden
    for layer in range(tensors.depth):
        x = layers.apply(x, f"{names.layers}.{layer}", bias, options.cls_only and layer == tensors.depth - 1)
    return Graph(embedded.inputs, x, embedded.words, tuple(layers.sinks))


class _Layers:
    """Adds layers to a graph with these inputs; ``sinks`` keep keys and values if requested by the options."""

    def __init__(self, tensors: Constants, names: LayerNames, options: Options, inputs: Mapping[str, Any]) -> None:
        self.sinks: list[Any] = []
        self._tensors, self._names, self._options, self._inputs = tensors, names, options, inputs
        self._heads = tensors.heads()
        self._width = tensors.width // self._heads

    def apply(self, x: Any, name: str, bias: Any, cls_only: bool) -> Any:
        """Apply the layer ``name`` for all tokens, or for the first only."""
        names, width = self._names, self._tensors.width
        key, value = (
            split_heads(self._linear(x, f"{name}.{part}", width, width), self._heads, self._width)
            for part in (names.key, names.value)
        )
        if self._options.cached:
            key, value = self._with_earlier(key, f"{name}.key"), self._with_earlier(value, f"{name}.value")
        if cls_only:
            x, bias = op.unsqueeze(first_token(x), ints(1)), first_row(bias)
        query = split_heads(self._linear(x, f"{name}.{names.query}", width, width), self._heads, self._width)
        attended = attend(query, key, value, bias, width)
        x = op.add(self._linear(attended, f"{name}.{names.attended}", width, width), x)
        x = self._tensors.norm(x, f"{name}.{names.attention_norm}")
        inner = activate(self._linear(x, f"{name}.{names.up}", None, width), self._tensors.config)
        x = op.add(self._linear(inner, f"{name}.{names.down}", width, None), x)
        return self._tensors.norm(x, f"{name}.{names.norm}")

    def _linear(self, x: Any, name: str, out: int | None, into: int | None) -> Any:
        return self._tensors.linear(x, name, out, into, self._options.eight_bits)

    def _with_earlier(self, part: Any, name: str) -> Any:
        """Append keys or values ``[batch, heads, tokens, width]`` to those of earlier calls, and keep the result."""
        axis = scalar(0)
        batch = op.gather(op.shape_of(self._inputs["input_ids"]), ints(0), axis)
        empty = op.broadcast(op.constant(np.float32(0)), op.concat([batch, ints(self._heads, 0, self._width)], 0))
        earlier = op.read_value(empty, name, np.float32, ov.PartialShape([-1, self._heads, -1, self._width]))
        both = op.concat([op.gather(earlier, self._inputs["rows"], axis), part], 2)
        self.sinks.append(op.assign(both, name))
        return both
