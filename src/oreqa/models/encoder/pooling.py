"""Pools token states into a vector: the poolings and layers of sentence-transformers' modules, and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.names import load_tensors, read_json_file
from oreqa.models.settings import whole_number

POOLINGS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}
"""Poolings, by sentence-transformers' names, and the keys that enabled them before its release 6."""

ACTIVATIONS_OF_LAYERS = ("Tanh", "Identity", "GELU", "ReLU")
"""torch's classes of the activations that a linear layer may have."""

Joining = Literal["concatenated", "averaged"]
"""How the vectors of several hops of attention become one."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A linear layer after pooling (sentence-transformers' Dense module): its folder and activation.

    The activation is ``tanh``, ``identity``, ``gelu`` or ``relu``. With ``unit_input``, its input is normalised.
    """

    folder: Path
    activation: str
    unit_input: bool = False


@dataclass(frozen=True, slots=True)
class Attention:
    """Multi-hop attention in place of a mean (``models.encoder.module``): its folder, its size, and how hops are joined."""

    folder: Path
    width: int
    hops: int
    joining: Joining

    @property
    def output_width(self) -> int:
        """The dimensions of the vectors."""
        return self.width * (self.hops if self.joining == "concatenated" else 1)


def read_pooling(folder: Path) -> tuple[str, bool]:
    """Return a Pooling module's pooling, and whether prompt tokens are pooled. Raises ModelError for several poolings."""
    settings = read_json_file(folder / "config.json")
    mode = settings.get("pooling_mode")
    if mode is None:
        mode = [name for name, key in POOLINGS.items() if settings.get(key) is True] or "mean"
    if isinstance(mode, list) and len(mode) == 1:
        mode = mode[0]
    if mode not in list(POOLINGS):
        shown = ", ".join(mode) if isinstance(mode, list) else mode
        raise ModelError(f"{folder}: the pooling {shown} is not supported; supported, one at a time: {', '.join(POOLINGS)}")
    return str(mode), settings.get("include_prompt") is not False


def read_layer(folder: Path, unit_input: bool) -> Layer:
    """Read the settings of a Dense module. Raises ModelError if it is not supported."""
    settings = read_json_file(folder / "config.json")
    activation = str(settings.get("activation_function") or "Tanh").rsplit(".", 1)[-1]
    if activation not in ACTIVATIONS_OF_LAYERS:
        raise ModelError(
            f"{folder}: the activation {activation} is not supported; supported: {', '.join(ACTIVATIONS_OF_LAYERS)}"
        )
    for key in ("module_input_name", "module_output_name"):
        if settings.get(key) not in (None, "sentence_embedding"):
            raise ModelError(f"{folder}: a layer with {key} {settings[key]!r} is not supported, only on the pooled vector")
    if settings.get("use_residual"):
        raise ModelError(f"{folder}: a layer with use_residual is not supported")
    return Layer(folder, activation.lower(), unit_input)


def read_attention(folder: Path, width: int) -> Attention:
    """Read the settings of an AttentionPooling module over states of ``width``. Raises ModelError if they are damaged."""
    settings = read_json_file(folder / "config.json")
    hops, joining = whole_number(settings, "hops", folder, minimum=1), settings.get("joining")
    if joining not in get_args(Joining):
        raise ModelError(f"{folder}: the joining {joining!r} is not supported; supported: {', '.join(get_args(Joining))}")
    return Attention(folder, width, hops, cast(Joining, joining))


def load_attention(attention: Attention) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Load W1 ``[hidden, width]`` and W2 ``[hops, hidden]``. Raises ModelError if they are missing or of other shapes."""
    tensors = load_tensors(attention.folder / "model.safetensors")
    inner, outer = tensors.get("inner.weight"), tensors.get("outer.weight")
    if inner is None or outer is None or inner.ndim != 2 or outer.ndim != 2:
        raise ModelError(f"{attention.folder}: its tensors are not those of attention (inner.weight, outer.weight)")
    if inner.shape[1] != attention.width or outer.shape != (attention.hops, len(inner)):
        raise ModelError(f"{attention.folder}: its tensors do not fit {attention.hops} hops of width {attention.width}")
    return inner.astype(np.float32), outer.astype(np.float32)


def load_dense(layer: Layer) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Load weight ``[out, in]`` and bias ``[out]`` (or None) of a layer. Raises ModelError if missing or damaged."""
    tensors = load_tensors(layer.folder / "model.safetensors")
    weight, bias = tensors.get("linear.weight"), tensors.get("linear.bias")
    if weight is None or weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise ModelError(f"{layer.folder}: its tensors are not those of a linear layer (linear.weight, linear.bias)")
    return weight.astype(np.float32), None if bias is None else bias.astype(np.float32)
