"""Parts of OpenVINO graphs shared by architectures and heads: a folder's weights as constants, the inputs, layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.settings import encoder_prefix, hidden_size, uniform_settings, whole_number

ACTIVATIONS = {"gelu": "ERF", "gelu_new": "TANH", "gelu_pytorch_tanh": "TANH", "relu": ""}
"""Maps ``hidden_act`` to OpenVINO's kinds of GELU; an empty value is ReLU."""


@dataclass(frozen=True)
class Graph:
    """An encoder without a head: its inputs by name and its last hidden state.

    The inputs are ``input_ids``, ``attention_mask`` and ``token_type_ids`` (``[batch, tokens]`` int64); ``hidden`` is
    ``[batch, tokens, width]`` float32. Families add their heads before the model is compiled. ``words`` are the word
    embeddings, ``[vocabulary, width]``; ``sinks`` the nodes that keep keys and values between calls.
    """

    inputs: Mapping[str, Any]
    hidden: Any
    words: Any
    sinks: tuple[Any, ...] = ()

    def model(self, outputs: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> ov.Model:
        """Return the model with the encoder's and the ``extra`` inputs, and with the outputs, all named."""
        inputs = {**self.inputs, **(extra or {})}
        for label, node in inputs.items():
            node.output(0).tensor.set_names({label})
        results = []
        for label, node in outputs.items():
            results.append(op.result(node))
            results[-1].output(0).tensor.set_names({label})
        return ov.Model(results, list(self.sinks), list(inputs.values()), "bert")


@dataclass(frozen=True, slots=True)
class Options:
    """What a family requires of an encoder's graph.

    ``eight_bits`` quantises the layers' matrices to int8 with one scale per row. ``cls_only`` computes the last layer for
    the first token only: ``hidden`` is then ``[batch, 1, width]``, with the same values at lower cost.

    ``cached`` keeps the layers' keys and values between calls: tokens see those of earlier calls. It adds two inputs:
    ``position_ids`` (``[batch, tokens]``, from 0) and ``rows`` (``[batch]``), each row's number in the previous call;
    ``attention_mask`` is ``[batch, earlier tokens + tokens]``.
    """

    eight_bits: bool = False
    cls_only: bool = False
    cached: bool = False


class Constants:
    """The weights of the model in ``folder`` as constants of a graph, with their shapes checked.

    ``config`` has its settings under BERT's names; ``width`` is that of the hidden states, ``depth`` the number of layers.
    """

    def __init__(self, folder: Path, weights: Mapping[str, np.ndarray], config: Mapping[str, Any]) -> None:
        self.folder, self._weights, self.config = folder, weights, uniform_settings(config)
        self.width, self.depth = hidden_size(config, folder), self.number("num_hidden_layers", minimum=1)
        self._prefix = encoder_prefix(config)
        self._eps = self.config.get("layer_norm_eps", 1e-12)
        if not isinstance(self._eps, float | int) or not self._eps > 0:
            raise ModelError(f"{folder}: its setting layer_norm_eps is {self._eps!r}; it must be a number above 0")

    def number(self, setting: str, default: int | None = None, minimum: int = 0) -> int:
        """Return an integer setting. Raises ModelError for anything else, and for less than ``minimum``."""
        return whole_number(self.config, setting, self.folder, default, minimum)

    def heads(self) -> int:
        """Return the number of attention heads. Raises ModelError unless it divides the width."""
        heads = self.number("num_attention_heads", minimum=1)
        if self.width % heads:
            raise ModelError(
                f"{self.folder}: its hidden_size {self.width} is not a multiple of its num_attention_heads {heads}"
            )
        return heads

    def array(self, name: str, *shape: int | None) -> np.ndarray:
        """Return the weights ``name`` in float32.

        Raises ModelError if they are missing or not of that shape (None: any size).
        """
        try:
            value = self._weights[self._prefix + name]
        except KeyError:
            raise ModelError(
                f"{self.folder}: the model's weights lack {self._prefix + name}: this is not a complete encoder"
            ) from None
        if value.ndim != len(shape) or any(n not in (None, size) for n, size in zip(shape, value.shape, strict=True)):
            raise ModelError(
                f"{self.folder}: its tensor {self._prefix + name} of shape {value.shape} does not fit its config.json"
            )
        return np.ascontiguousarray(value, dtype=np.float32)

    def __call__(self, name: str, *shape: int | None) -> Any:
        """Return the weights as a constant."""
        return op.constant(self.array(name, *shape), shared_memory=True)

    def norm(self, x: Any, name: str, width: int | None = None, bias: bool = True) -> Any:
        """Apply the layer normalisation ``name``, by default of the hidden states' width."""
        width = width or self.width
        return layer_norm(x, self(f"{name}.weight", width), self(f"{name}.bias", width) if bias else None, self._eps)

    def linear(
        self, x: Any, name: str, out: int | None, into: int | None, eight_bits: bool = False, bias: bool = True
    ) -> Any:
        """Apply the linear layer ``name`` with ``into`` inputs and ``out`` outputs (None: any number)."""
        x = product(x, self(f"{name}.weight", out, into), eight_bits)
        return op.add(x, self(f"{name}.bias", out)) if bias else x


def token_inputs() -> dict[str, Any]:
    """Return the inputs of every encoder, ``[batch, tokens]`` int64 each, by name."""
    return {name: op.parameter([-1, -1], np.int64, name) for name in ("input_ids", "attention_mask", "token_type_ids")}


def embed_tokens(
    tensors: Constants,
    options: Options = Options(),
    *,
    width: int | None = None,
    first_position: int = 0,
    segments: bool = True,
) -> Graph:
    """Return the inputs and the normalised sums of word, position and ``segments`` embeddings: ``[batch, tokens, width]``.

    The default ``width`` is the model's; the first token has the position ``first_position``.
    """
    inputs = token_inputs()
    if options.cached:
        inputs["position_ids"] = op.parameter([-1, -1], np.int64, "position_ids")
        inputs["rows"] = op.parameter([-1], np.int32, "rows")
    axis, width = scalar(0), width or tensors.width
    words = tensors("embeddings.word_embeddings.weight", None, width)
    places = tensors.array("embeddings.position_embeddings.weight", None, width)[first_position:]
    kinds = tensors.array("embeddings.token_type_embeddings.weight", None, width) if segments else np.zeros((1, width))
    if len(kinds) == 1:  # a model without segments: whatever the inputs say
        places = np.asarray(places + kinds, np.float32)
    positions = op.constant(np.ascontiguousarray(places), shared_memory=True)
    chosen = op.gather(positions, inputs["position_ids"], axis) if options.cached else first_rows(positions, inputs)
    tokens = op.gather(words, inputs["input_ids"], axis)
    if len(kinds) > 1:
        tokens = op.add(tokens, op.gather(op.constant(kinds), inputs["token_type_ids"], axis))
    return Graph(inputs, tensors.norm(op.add(tokens, chosen), "embeddings.LayerNorm", width), words)


def first_rows(table: Any, inputs: Mapping[str, Any]) -> Any:
    """Return the first rows of a table, as many as the batch has tokens."""
    length = op.gather(op.shape_of(inputs["input_ids"]), ints(1), scalar(0))
    return op.slice(table, ints(0), length, ints(1), ints(0))


def places(inputs: Mapping[str, Any]) -> Any:
    """Return the positions of the batch's tokens from 0, ``[tokens]`` int64."""
    tokens = op.gather(op.shape_of(inputs["input_ids"]), scalar(1), scalar(0))
    return op.range(scalar(0), tokens, scalar(1), "i64")


def distances(inputs: Mapping[str, Any]) -> Any:
    """Return the distances between tokens, ``[tokens, tokens]`` int64: row i, column j is j - i."""
    return op.subtract(op.unsqueeze(places(inputs), ints(0)), op.unsqueeze(places(inputs), ints(1)))


def padding_bias(mask: Any) -> Any:
    """Return the attention bias, ``[batch, 1, 1, tokens]``: 0 for tokens, a large negative number for padding."""
    is_token = op.unsqueeze(op.convert(mask, np.float32), ints(1, 2))
    return op.multiply(op.subtract(op.constant(np.float32(1)), is_token), op.constant(np.float32(-1e9)))


def split_heads(x: Any, heads: int, width: int) -> Any:
    """Reshape ``[batch, tokens, heads * width]`` to ``[batch, heads, tokens, width]``."""
    return op.transpose(op.reshape(x, ints(0, 0, heads, width), True), ints(0, 2, 1, 3))


def attend(query: Any, key: Any, value: Any, bias: Any, width: int) -> Any:
    """Return the concatenated outputs of the attention heads: ``[batch, tokens, width]``."""
    attended = op.scaled_dot_product_attention(query, key, value, bias)
    return op.reshape(op.transpose(attended, ints(0, 2, 1, 3)), ints(0, 0, width), True)


def rotate(x: Any, rotation: Sequence[Any]) -> Any:
    """Rotate pairs of values by angles with cosines and sines ``[tokens, width / 2]`` (Su et al. 2021, Eq. 34).

    ``x`` is ``[batch, heads, tokens, width]``; the second values of the pairs are the second half of its last axis.
    """
    cosine, sine = rotation
    first, second = split(x, 2, axis=3)
    ahead = op.subtract(op.multiply(first, cosine), op.multiply(second, sine))
    return op.concat([ahead, op.add(op.multiply(second, cosine), op.multiply(first, sine))], 3)


def layer_norm(x: Any, weight: Any, bias: Any | None, eps: float) -> Any:
    """Normalise the last axis to mean 0 and variance 1, then scale and shift it."""
    centred = op.mvn(x, op.constant(np.array([-1], np.int64)), True, eps, "INSIDE_SQRT")
    scaled = op.multiply(centred, weight)
    return scaled if bias is None else op.add(scaled, bias)


def product(x: Any, matrix: Any, eight_bits: bool) -> Any:
    """Multiply by a constant ``[out, in]``, quantised to int8 with ``eight_bits``."""
    return op.matmul(x, _quantised(matrix) if eight_bits else matrix, False, True)


def activate(x: Any, config: Mapping[str, Any]) -> Any:
    """Apply the model's activation."""
    mode = ACTIVATIONS[config.get("hidden_act", "gelu")]
    return op.gelu(x, mode) if mode else op.relu(x)


def _quantised(matrix: Any) -> Any:
    """Quantise a constant to int8 with one scale per row, in the form that OpenVINO multiplies in int8."""
    scale = np.maximum(np.abs(matrix.data).max(1, keepdims=True), 1e-12) / 127
    steps = op.constant(np.rint(matrix.data / scale).astype(np.int8))
    return op.multiply(op.convert(steps, np.float32), op.constant(scale.astype(np.float32)))


def dense(x: Any, weight: np.ndarray, bias: np.ndarray | None, activation: str = "identity") -> Any:
    """Apply a linear layer to the last axis, ``weight`` ``[out, in]``; ``activation`` is tanh, gelu, relu or identity."""
    x = op.matmul(x, op.constant(np.ascontiguousarray(weight, np.float32)), False, True)
    if bias is not None:
        x = op.add(x, op.constant(np.ascontiguousarray(bias, np.float32)))
    if activation == "gelu":
        return op.gelu(x, "ERF")
    return {"tanh": op.tanh, "relu": op.relu}.get(activation, lambda x: x)(x)


def first_token(hidden: Any) -> Any:
    """Return the hidden state of [CLS], ``[batch, width]``."""
    return pick(hidden, 0, axis=1)


def first_row(bias: Any) -> Any:
    """Return the first token's part of an attention bias ``[batch, heads, tokens or 1, tokens]``."""
    return op.slice(bias, ints(0), ints(1), ints(1), ints(2))


def pick(x: Any, place: int, axis: int) -> Any:
    """Return the slice at index ``place`` of an axis, dropping the axis."""
    return op.gather(x, scalar(place), scalar(axis))


def ints(*values: int) -> Any:
    """Return a constant, ``[values]`` int64."""
    return op.constant(np.array(values, np.int64))


def scalar(value: int) -> Any:
    """Return a constant int64 without dimensions."""
    return op.constant(np.array(value, np.int64))


def split(x: Any, parts: int, axis: int) -> Any:
    """Return equal parts of an axis."""
    return op.split(x, scalar(axis), parts).outputs()
