"""Models stored as small differences from a base model: packs them, and adds them to the base's weights.

Each tensor of a difference is stored under its name in the base, in one of four forms:

- four bits: two values per byte, one scale per row (``NAME.scale``), added to the base's matrix. As the differences of
  a matrix are small, the error is about a seventh of the difference, which in a reader is a sixth of the weights.
- low rank: ``b @ a`` is added to the base's ``NAME.weight``: ``NAME.a`` ``[rank, in]`` and ``NAME.b`` ``[out, rank]``,
  float16, or int8 with the scales of the rows of a (``NAME.a_scale``) and of the columns of b (``NAME.b_scale``).
- float32: added to the base's tensor; a head that the base lacks is stored whole.
- float16: the tensor itself.

Unchanged tensors are omitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats
from oreqa.errors import ModelError

DIFFERENCE = "difference.safetensors"
"""The weights file of a model stored as a difference."""

_SCALE = ".scale"
_HIGHEST = 7
"""The largest four-bit value; the smallest is its negative."""


def pack_difference(
    tuned: Mapping[str, Floats], base: Mapping[str, Floats], rank: int | None = None
) -> dict[str, NDArray[np.generic]]:
    """Return ``tuned`` minus ``base``: four bits per value for matrices, float32 for everything else.

    With a ``rank``, weight matrices become their nearest factors of that rank, in eight bits.
    """
    packed: dict[str, NDArray[np.generic]] = {}
    for name, value in tuned.items():
        if name not in base or base[name].shape != value.shape:
            packed[name] = value.astype(np.float32)
        elif np.array_equal(value, base[name]):
            continue
        elif value.ndim == 2 and rank is not None and name.endswith(".weight"):
            packed |= _factors(value - base[name], name.removesuffix(".weight"), rank)
        elif value.ndim == 2:
            delta = value - base[name]
            scale = np.maximum(np.abs(delta).max(1, keepdims=True), 1e-12) / _HIGHEST
            packed[name] = _joined(np.rint(delta / scale).astype(np.int8))
            packed[name + _SCALE] = scale[:, 0].astype(np.float32)
        else:
            packed[name] = (value - base[name]).astype(np.float32)
    return packed


def unpack_difference(packed: Mapping[str, NDArray[np.generic]], base: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the tuned weights. Raises ModelError if a tensor does not fit the base."""
    weights = {name: np.asarray(value, np.float32) for name, value in base.items()}
    for key, value in packed.items():
        name = f"{key.removesuffix('.b')}.weight" if key.endswith(".b") else key
        if key != name:
            delta = _product(packed, key.removesuffix(".b"))
        elif name.endswith((_SCALE, ".a", ".a_scale", ".b_scale")):
            continue
        elif name + _SCALE in packed:
            width = base[name].shape[-1] if name in base else 0
            delta = _parted(value, width) * np.asarray(packed[name + _SCALE], np.float32)[:, None]
        elif value.dtype == np.float16 or name not in weights or weights[name].shape != value.shape:
            weights[name] = np.asarray(value, np.float32)
            continue
        else:
            delta = np.asarray(value, np.float32)
        if name not in weights or weights[name].shape != delta.shape:
            raise ModelError(f"the difference of {name} does not fit its base model: the base has changed")
        weights[name] = weights[name] + delta
    return weights


def _factors(delta: Floats, name: str, rank: int) -> dict[str, NDArray[np.generic]]:
    """Return the factors of the matrix of this rank nearest to ``delta`` (Eckart and Young 1936), in eight bits."""
    left, singular, right = np.linalg.svd(delta, full_matrices=False)
    root = np.sqrt(singular[:rank])
    packed: dict[str, NDArray[np.generic]] = {}
    for side, factor, axis in (("a", root[:, None] * right[:rank], 1), ("b", left[:, :rank] * root, 0)):
        scale = np.maximum(np.abs(factor).max(axis, keepdims=True) / 127, 1e-7).astype(np.float16)
        packed[f"{name}.{side}"] = np.clip(np.rint(factor / scale.astype(np.float32)), -127, 127).astype(np.int8)
        packed[f"{name}.{side}_scale"] = scale
    return packed


def _product(packed: Mapping[str, NDArray[Any]], name: str) -> Floats:
    """Return ``b @ a`` of the linear layer ``name``, ``[out, in]``."""
    try:
        a, b = (np.asarray(packed[f"{name}.{side}"], np.float32) for side in "ab")
        if packed[f"{name}.a"].dtype == np.int8:
            a, b = a * packed[f"{name}.a_scale"].reshape(-1, 1), b * packed[f"{name}.b_scale"].reshape(1, -1)
        return np.asarray(b @ a, np.float32)
    except (KeyError, ValueError) as error:
        raise ModelError(f"the low-rank difference of {name} is damaged ({error}): copy it again") from None


def _joined(values: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Pack two values per byte: ``[rows, columns]`` of -8 to 7 to ``[rows, half of the columns, rounded up]``."""
    even = np.pad(values, ((0, 0), (0, values.shape[1] % 2)))
    low, high = (even[:, side::2].view(np.uint8) & 15 for side in (0, 1))
    return (low | high << 4).astype(np.uint8)


def _parted(values: NDArray[Any], width: int) -> NDArray[np.int8]:
    """Invert ``_joined`` for matrices of this width."""
    pairs = np.stack([values & 15, values >> 4], -1).astype(np.int8).reshape(len(values), -1)
    signed: NDArray[np.int8] = np.where(pairs > _HIGHEST, pairs - 16, pairs)
    return signed[:, :width] if signed.shape[1] - width in (0, 1) else signed
