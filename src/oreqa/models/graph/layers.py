"""Parts of OpenVINO graphs that architectures and heads share: a folder's weights as constants, the inputs, layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.names import whole_number
from oreqa.models.weights import encoder_prefix

ACTIVATIONS = {"gelu": "ERF", "gelu_new": "TANH", "gelu_pytorch_tanh": "TANH", "relu": ""}
"""Values of ``hidden_act`` to OpenVINO's kinds of GELU; without one, it is ReLU."""


@dataclass(frozen=True)
class Graph:
    """An encoder without a head: its inputs by name and its last hidden state.

    The inputs are ``input_ids``, ``attention_mask`` and ``token_type_ids`` (``[batch, tokens]`` int64); ``hidden`` is
    ``[batch, tokens, width]`` float32. Families add their heads before the model is compiled. ``words`` are the word
    embeddings, ``[vocabulary, width]``; ``sinks`` the nodes that keep keys and values between two calls.
    """

    inputs: Mapping[str, Any]
    hidden: Any
    words: Any
    sinks: tuple[Any, ...] = ()

    def model(self, outputs: Mapping[str, Any], extra: Mapping[str, Any] | None = None) -> ov.Model:
        """The model with the encoder's and the ``extra`` inputs, and with the outputs, all named."""
        inputs = {**self.inputs, **(extra or {})}
        for label, node in inputs.items():
            node.output(0).tensor.set_names({label})
        results = []
        for label, node in outputs.items():
            results.append(op.result(node))
            results[-1].output(0).tensor.set_names({label})
        return ov.Model(results, list(self.sinks), list(inputs.values()), "bert")


class Constants:
    """The weights of the model in ``folder`` as constants of a graph, their shapes checked."""

    def __init__(self, folder: Path, weights: Mapping[str, np.ndarray], config: Mapping[str, Any]) -> None:
        self.folder, self._weights = folder, weights
        self.width = whole_number(config, "hidden_size", folder, minimum=1)
        self._prefix = encoder_prefix(config)
        self._eps = config.get("layer_norm_eps", 1e-12)
        if not isinstance(self._eps, float | int) or not self._eps > 0:
            raise ModelError(f"{folder}: its setting layer_norm_eps is {self._eps!r}; it must be a number above 0")

    def array(self, name: str, *shape: int | None) -> np.ndarray:
        """The weights ``name`` in float32. Raises ModelError if they are missing or not of that shape (None: any size)."""
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
        """The same as a constant."""
        return op.constant(self.array(name, *shape), shared_memory=True)

    def norm(self, x: Any, name: str) -> Any:
        """The layer normalisation ``name``."""
        return layer_norm(x, self(f"{name}.weight", self.width), self(f"{name}.bias", self.width), self._eps)

    def linear(self, x: Any, name: str, out: int | None, into: int | None, eight_bits: bool = False) -> Any:
        """The linear layer ``name`` of ``into`` inputs and ``out`` outputs (None: any number)."""
        return op.add(product(x, self(f"{name}.weight", out, into), eight_bits), self(f"{name}.bias", out))


def token_inputs() -> dict[str, Any]:
    """The inputs of every encoder, ``[batch, tokens]`` int64 each, by name."""
    return {name: op.parameter([-1, -1], np.int64, name) for name in ("input_ids", "attention_mask", "token_type_ids")}


def embed_tokens(tensors: Constants, inputs: Mapping[str, Any], position_ids: Any | None = None) -> tuple[Any, Any]:
    """BERT's embeddings of the tokens, ``[batch, tokens, width]``, and those of all words, ``[vocabulary, width]``.

    Without ``position_ids`` (``[batch, tokens]``) the positions count from 0.
    """
    axis = op.constant(np.array(0, np.int64))
    words, positions, segments = (
        tensors(f"embeddings.{name}_embeddings.weight", None, tensors.width) for name in ("word", "position", "token_type")
    )
    if position_ids is not None:
        positions = op.gather(positions, position_ids, axis)
    else:  # the first rows, as many as the batch has tokens
        length = op.gather(op.shape_of(inputs["input_ids"]), ints(1), axis)
        positions = op.slice(positions, ints(0), length, ints(1), ints(0))
    tokens = op.add(op.gather(words, inputs["input_ids"], axis), op.gather(segments, inputs["token_type_ids"], axis))
    return tensors.norm(op.add(tokens, positions), "embeddings.LayerNorm"), words


def layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalise the last axis to mean 0 and variance 1, then scale and shift it."""
    centred = op.mvn(x, op.constant(np.array([-1], np.int64)), True, eps, "INSIDE_SQRT")
    return op.add(op.multiply(centred, weight), bias)


def product(x: Any, matrix: Any, eight_bits: bool) -> Any:
    """Multiply by a constant ``[out, in]``, which is quantised to int8 if ``eight_bits``."""
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


def pick(x: Any, place: int, axis: int) -> Any:
    """Return the slice at index ``place`` of an axis, and drop the axis."""
    return op.gather(x, op.constant(np.array(place, np.int64)), op.constant(np.array(axis, np.int64)))


def ints(*values: int) -> Any:
    """A constant, ``[values]`` int64."""
    return op.constant(np.array(values, np.int64))
