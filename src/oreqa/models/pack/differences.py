"""Store a fine-tuned model as its difference from the base model, in four bits: an eighth of the size.

The differences of a matrix are small: four bits with one scale per row err by about a seventh of the difference, which in a
reader is itself a sixth of the weights. Tensors that did not change are left out; vectors are stored as float32 differences,
new heads as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError

Weights = Mapping[str, NDArray[np.float32]]
SCALE = ".scale"
TOP = 7
"""The largest value of four bits; the smallest is its negative."""


def pack_difference(tuned: Weights, base: Weights) -> dict[str, NDArray[np.generic]]:
    """Return ``tuned`` minus ``base``: of matrices two values a byte, with one scale per row, and float32 of all else."""
    packed: dict[str, NDArray[np.generic]] = {}
    for name, value in tuned.items():
        if name not in base or base[name].shape != value.shape:
            packed[name] = value.astype(np.float32)
        elif np.array_equal(value, base[name]):
            continue
        elif value.ndim == 2:
            delta = value - base[name]
            scale = np.maximum(np.abs(delta).max(1, keepdims=True), 1e-12) / TOP
            packed[name] = _joined(np.rint(delta / scale).astype(np.int8))
            packed[name + SCALE] = scale[:, 0].astype(np.float32)
        else:
            packed[name] = (value - base[name]).astype(np.float32)
    return packed


def unpack_difference(packed: Mapping[str, NDArray[np.generic]], base: Weights) -> dict[str, NDArray[np.float32]]:
    """Return the tuned weights; matrices in eight bits, as they were packed before, are read too.

    Raises ModelError if a tensor does not fit the base.
    """
    weights = {name: np.asarray(value, np.float32) for name, value in base.items()}
    for name, value in packed.items():
        if name.endswith(SCALE):
            continue
        width = base[name].shape[-1] if name in base else 0
        values = _parted(value, width) if value.dtype == np.uint8 else value
        delta = values.astype(np.float32)
        if name + SCALE in packed:
            delta = delta * np.asarray(packed[name + SCALE], np.float32)[:, None]
        if name in weights and weights[name].shape == delta.shape:
            weights[name] = weights[name] + delta
        elif name + SCALE in packed:
            raise ModelError(f"the difference of {name} does not fit its base model: the base has changed")
        else:
            weights[name] = delta
    return weights


def _joined(values: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Two values a byte: ``[rows, columns]`` of -8 to 7 to ``[rows, half of the columns, rounded up]``."""
    even = np.pad(values, ((0, 0), (0, values.shape[1] % 2)))
    low, high = (even[:, side::2].view(np.uint8) & 15 for side in (0, 1))
    return (low | high << 4).astype(np.uint8)


def _parted(values: NDArray[Any], width: int) -> NDArray[np.int8]:
    """The inverse of ``_joined`` for matrices of this width."""
    pairs = np.stack([values & 15, values >> 4], -1).astype(np.int8).reshape(len(values), -1)
    signed: NDArray[np.int8] = np.where(pairs > TOP, pairs - 16, pairs)
    return signed[:, :width] if signed.shape[1] - width in (0, 1) else signed
