"""The OpenVINO graph of a BERT encoder (Devlin et al. 2019), built directly from a model folder's safetensors.

It needs no torch and no export: ``config.json`` gives the shape and ``model.safetensors`` the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.folders import whole_number
from oreqa.models.graph.embeddings import Tensors, embed_tokens, token_inputs
from oreqa.models.graph.quiet_openvino import op, ov

_ACTIVATIONS = {"gelu": "ERF", "gelu_new": "TANH", "gelu_pytorch_tanh": "TANH", "relu": ""}


@dataclass(frozen=True)
class Graph:
    """A BERT encoder without a head: its inputs by name and its last hidden state.

    The inputs are ``input_ids``, ``attention_mask`` and ``token_type_ids`` (``[batch, tokens]`` int64); ``hidden`` is
    ``[batch, tokens, width]`` float32. Families add their heads before the model is compiled. ``words`` are the word
    embeddings, ``[vocabulary, width]``; ``sinks`` the nodes that keep keys and values between two calls.
    """

    inputs: Mapping[str, Any]
    hidden: Any
    words: Any
    sinks: tuple[Any, ...] = ()


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

    Raises ModelError if the architecture is not BERT, or if a tensor is missing or does not have the shape that
    ``config`` implies.
    """
    check_supported(folder, config)
    tensor = Tensors(folder, weights, config)
    width = tensor.width
    heads, depth = (whole_number(config, name, folder, minimum=1) for name in ("num_attention_heads", "num_hidden_layers"))
    if width % heads:
        raise ModelError(f"{folder}: its hidden_size {width} is not a multiple of its num_attention_heads {heads}")

    def linear(x: Any, name: str, out: int | None = width, into: int | None = width) -> Any:
        matrix = tensor(f"{name}.weight", out, into)
        return op.add(product(x, matrix, eight_bits), tensor(f"{name}.bias", out))

    def split_heads(x: Any) -> Any:
        split = op.reshape(x, op.constant(np.array([0, 0, heads, width // heads], np.int64)), True)
        return op.transpose(split, op.constant(np.array([0, 2, 1, 3], np.int64)))

    axis = op.constant(np.array(0, np.int64))
    inputs = token_inputs()
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    if cached:
        inputs["position_ids"] = op.parameter([-1, -1], np.int64, "position_ids")
        inputs["rows"] = op.parameter([-1], np.int32, "rows")
    x, words = embed_tokens(tensor, inputs, inputs.get("position_ids"))
    sinks: list[Any] = []

    def with_earlier(part: Any, name: str) -> Any:
        """Keys or values ``[batch, heads, tokens, width]`` behind those of the calls before, and keep both."""
        batch = op.gather(op.shape_of(ids), op.constant(np.array([0], np.int64)), axis)
        shape = op.concat([batch, op.constant(np.array([heads, 0, width // heads], np.int64))], 0)
        nothing = op.broadcast(op.constant(np.float32(0)), shape)
        earlier = op.read_value(nothing, name, np.float32, ov.PartialShape([-1, heads, -1, width // heads]))
        both = op.concat([op.gather(earlier, inputs["rows"], axis), part], 2)
        sinks.append(op.assign(both, name))
        return both

    # Attention bias [batch, 1, 1, tokens]: 0 for tokens, a large negative number for padding.
    is_token = op.unsqueeze(op.convert(mask, np.float32), op.constant(np.array([1, 2], np.int64)))
    bias = op.multiply(op.subtract(op.constant(np.float32(1)), is_token), op.constant(np.float32(-1e9)))

    for layer in range(depth):
        base = f"encoder.layer.{layer}"
        key, value = (split_heads(linear(x, f"{base}.attention.self.{part}")) for part in ("key", "value"))
        if cached:
            key, value = with_earlier(key, f"{base}.key"), with_earlier(value, f"{base}.value")
        if cls_only and layer == depth - 1:
            x = op.unsqueeze(first_token(x), op.constant(np.array([1], np.int64)))
        query = split_heads(linear(x, f"{base}.attention.self.query"))
        attended = op.scaled_dot_product_attention(query, key, value, bias)
        joined = op.reshape(
            op.transpose(attended, op.constant(np.array([0, 2, 1, 3], np.int64))),
            op.constant(np.array([0, 0, width], np.int64)),
            True,
        )
        x = tensor.norm(op.add(linear(joined, f"{base}.attention.output.dense"), x), f"{base}.attention.output.LayerNorm")
        inner = activate(linear(x, f"{base}.intermediate.dense", out=None), config)
        x = tensor.norm(op.add(linear(inner, f"{base}.output.dense", into=None), x), f"{base}.output.LayerNorm")
    return Graph(inputs, x, words, tuple(sinks))


def product(x: Any, matrix: Any, eight_bits: bool) -> Any:
    """Multiply by a constant ``[out, in]``, which is quantised to int8 if ``eight_bits``."""
    return op.matmul(x, _quantised(matrix) if eight_bits else matrix, False, True)


def activate(x: Any, config: Mapping[str, Any]) -> Any:
    """Apply the model's activation."""
    mode = _ACTIVATIONS[config.get("hidden_act", "gelu")]
    return op.gelu(x, mode) if mode else op.relu(x)


def _quantised(matrix: Any) -> Any:
    """Quantise a constant to int8 with one scale per row, in the form that OpenVINO multiplies in int8."""
    scale = np.maximum(np.abs(matrix.data).max(1, keepdims=True), 1e-12) / 127
    steps = op.constant(np.rint(matrix.data / scale).astype(np.int8))
    return op.multiply(op.convert(steps, np.float32), op.constant(scale.astype(np.float32)))


def pooled(graph: Graph, weights: Any) -> Any:
    """Return weighted sums of the hidden states: ``[batch, outputs, tokens] x [batch, tokens, width]``.

    A row of equal weights is a mean over those tokens; a row with a single 1 selects one token, as [CLS].
    """
    return op.matmul(weights, graph.hidden, False, False)


def dense(x: Any, weight: np.ndarray, bias: np.ndarray | None, activation: str) -> Any:
    """Apply a linear layer to the last axis, ``weight`` ``[out, in]``; ``activation`` is ``tanh`` or ``identity``."""
    product = op.matmul(x, op.constant(np.ascontiguousarray(weight, np.float32)), False, True)
    if bias is not None:
        product = op.add(product, op.constant(np.ascontiguousarray(bias, np.float32)))
    return op.tanh(product) if activation == "tanh" else product


def normalise(x: Any) -> Any:
    """Divide each vector (the last axis) by its Euclidean length."""
    return op.normalize_l2(x, op.constant(np.array([-1], np.int64)), 1e-12, "max")


def first_token(hidden: Any) -> Any:
    """Return the hidden state of [CLS], ``[batch, width]``."""
    return pick(hidden, 0, axis=1)


def pick(x: Any, place: int, axis: int) -> Any:
    """Return the slice at index ``place`` of an axis, and drop the axis."""
    return op.gather(x, op.constant(np.array(place, np.int64)), op.constant(np.array(axis, np.int64)))


def as_model(graph: Graph, extra: Mapping[str, Any], outputs: Mapping[str, Any]) -> ov.Model:
    """Return the model with the encoder's and the ``extra`` inputs, and with the outputs, all named."""
    inputs = {**graph.inputs, **extra}
    for label, node in inputs.items():
        node.output(0).tensor.set_names({label})
    results = []
    for label, node in outputs.items():
        results.append(op.result(node))
        results[-1].output(0).tensor.set_names({label})
    return ov.Model(results, list(graph.sinks), list(inputs.values()), "bert")


def check_supported(folder: Path, config: Mapping[str, Any]) -> None:
    """Raise ModelError for an encoder that is no BERT, or one of unknown position embeddings or activation."""
    kind = config.get("model_type")
    if kind not in ("bert", "dpr"):
        raise ModelError(
            f"{folder}: the model type {kind!r} is not supported; use a BERT encoder (model_type bert in config.json)"
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"{folder}: relative position embeddings are not supported, only absolute ones")
    if config.get("hidden_act", "gelu") not in _ACTIVATIONS:
        raise ModelError(
            f"{folder}: the activation {config['hidden_act']!r} is not supported; supported: {', '.join(_ACTIVATIONS)}"
        )
