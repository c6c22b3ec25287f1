"""ModernBERT (Warner et al. 2024): pre-norm layers with rotary positions, most of which see only nearby tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.layers import (
    Constants,
    Graph,
    Options,
    activate,
    attend,
    distances,
    first_row,
    first_rows,
    first_token,
    ints,
    padding_bias,
    rotate,
    scalar,
    split,
    split_heads,
    token_inputs,
)
from oreqa.models.graph.quiet_openvino import op

_GLOBAL, _LOCAL = "full_attention", "sliding_attention"
_THETAS = {_GLOBAL: ("global_rope_theta", 160_000.0), _LOCAL: ("local_rope_theta", 10_000.0)}


def modernbert_graph(tensors: Constants, options: Options) -> Graph:
    """Build ModernBERT's encoder."""
    inputs, axis = token_inputs(), scalar(0)
    words = tensors("embeddings.tok_embeddings.weight", None, tensors.width)
    everywhere = padding_bias(inputs["attention_mask"])
    far = op.greater(op.abs(distances(inputs)), scalar(tensors.number("local_attention", 128) // 2))
    only_near = op.multiply(op.convert(far, np.float32), op.constant(np.float32(-1e9)))
    biases = {_GLOBAL: everywhere, _LOCAL: op.add(everywhere, only_near)}
    rotations = {kind: [first_rows(part, inputs) for part in _rotation(tensors, kind)] for kind in biases}
    layers = _Layers(tensors, options.eight_bits)
    x = layers.norm(op.gather(words, inputs["input_ids"], axis), "embeddings.norm")
    for layer, kind in enumerate(_kinds(tensors)):
        x = layers.apply(x, layer, rotations[kind], biases[kind], options.cls_only and layer == tensors.depth - 1)
    return Graph(inputs, layers.norm(x, "final_norm"), words)


class _Layers:
    """Adds layers to a graph."""

    def __init__(self, tensors: Constants, eight_bits: bool) -> None:
        self._tensors, self._eight_bits, self._heads = tensors, eight_bits, tensors.heads()

    def apply(self, x: Any, layer: int, rotation: Sequence[Any], bias: Any, cls_only: bool) -> Any:
        """Apply a layer for all tokens, or for the first only."""
        name, width = f"layers.{layer}", self._tensors.width
        normed = self.norm(x, f"{name}.attn_norm") if layer else x  # the embeddings are normalised
        three = self._linear(normed, f"{name}.attn.Wqkv", 3 * width, width, "attention_bias")
        parts = split(three, 3, axis=2)
        query, key, value = (split_heads(part, self._heads, width // self._heads) for part in parts)
        query, key = rotate(query, rotation), rotate(key, rotation)
        if cls_only:
            x, query, bias = op.unsqueeze(first_token(x), ints(1)), first_row(query), first_row(bias)
        attended = attend(query, key, value, bias, width)
        x = op.add(x, self._linear(attended, f"{name}.attn.Wo", width, width, "attention_bias"))
        both = self._linear(self.norm(x, f"{name}.mlp_norm"), f"{name}.mlp.Wi", None, width, "mlp_bias")
        up, gate = split(both, 2, axis=2)
        inner = op.multiply(activate(up, self._tensors.config), gate)
        return op.add(x, self._linear(inner, f"{name}.mlp.Wo", width, None, "mlp_bias"))

    def norm(self, x: Any, name: str) -> Any:
        """Apply the layer normalisation ``name``."""
        return self._tensors.norm(x, name, bias=bool(self._tensors.config.get("norm_bias")))

    def _linear(self, x: Any, name: str, out: int | None, into: int | None, bias: str) -> Any:
        return self._tensors.linear(x, name, out, into, self._eight_bits, bias=bool(self._tensors.config.get(bias)))


def _kinds(tensors: Constants) -> list[str]:
    """Return the kind of each layer's attention. Raises ModelError for unknown ones."""
    every = tensors.number("global_attn_every_n_layers", 3, minimum=1)
    pattern = [_LOCAL if layer % every else _GLOBAL for layer in range(tensors.depth)]
    kinds = tensors.config.get("layer_types") or pattern
    if len(kinds) != tensors.depth or not set(kinds) <= set(_THETAS):
        raise ModelError(f"{tensors.folder}: its layer_types must be {tensors.depth} of {' and '.join(_THETAS)}")
    return list(kinds)


def _rotation(tensors: Constants, kind: str) -> tuple[Any, Any]:
    """Return the cosine and sine of the positions' angles (Su et al. 2021), ``[positions, half of a head's width]``."""
    name, default = _THETAS[kind]
    settings = (tensors.config.get("rope_parameters") or {}).get(kind) or {}
    if settings.get("rope_type", "default") != "default" or tensors.config.get("rope_scaling"):
        raise ModelError(f"{tensors.folder}: scaled rotary positions (rope_scaling, rope_type) are not supported")
    theta = settings.get("rope_theta") or tensors.config.get(name) or default
    width = tensors.width // tensors.heads()
    frequencies = 1 / theta ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width))
    positions = np.arange(tensors.number("max_position_embeddings", 8192), dtype=np.float32)
    angles = np.outer(positions, frequencies.astype(np.float32))
    return op.constant(np.cos(angles)), op.constant(np.sin(angles))
