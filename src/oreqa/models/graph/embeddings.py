"""The beginning of every graph: a folder's weights as constants, the inputs, and BERT's embeddings of the tokens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.folders import whole_number
from oreqa.models.graph.quiet_openvino import op


class Tensors:
    """The weights of the model in ``folder`` as constants of a graph, their shapes checked."""

    def __init__(self, folder: Path, weights: Mapping[str, np.ndarray], config: Mapping[str, Any]) -> None:
        self.folder, self._weights = folder, weights
        self.width = whole_number(config, "hidden_size", folder, minimum=1)
        self._prefix = _prefix(folder, weights)
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


def token_inputs() -> dict[str, Any]:
    """The inputs of every encoder, ``[batch, tokens]`` int64 each, by name."""
    return {name: op.parameter([-1, -1], np.int64, name) for name in ("input_ids", "attention_mask", "token_type_ids")}


def embed_tokens(tensors: Tensors, inputs: Mapping[str, Any], position_ids: Any | None = None) -> tuple[Any, Any]:
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
        length = op.gather(op.shape_of(inputs["input_ids"]), op.constant(np.array([1], np.int64)), axis)
        zero, unit = (op.constant(np.array([number], np.int64)) for number in (0, 1))
        positions = op.slice(positions, zero, length, unit, zero)
    tokens = op.add(op.gather(words, inputs["input_ids"], axis), op.gather(segments, inputs["token_type_ids"], axis))
    return tensors.norm(op.add(tokens, positions), "embeddings.LayerNorm"), words


def layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Normalise the last axis to mean 0 and variance 1, then scale and shift it."""
    centred = op.mvn(x, op.constant(np.array([-1], np.int64)), True, eps, "INSIDE_SQRT")
    return op.add(op.multiply(centred, weight), bias)


def _prefix(folder: Path, weights: Mapping[str, np.ndarray]) -> str:
    """Return the prefix of the encoder's tensor names: a model with a head has one ('bert.'), a bare encoder has none.

    Raises ModelError if there is no encoder.
    """
    for prefix in ("", "bert.", "model.", "0.auto_model."):
        if prefix + "embeddings.word_embeddings.weight" in weights:
            return prefix
    raise ModelError(f"{folder}: the weights contain no BERT embeddings (embeddings.word_embeddings.weight)")
