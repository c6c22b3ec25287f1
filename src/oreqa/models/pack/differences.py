"""Store a fine-tuned model as its difference from the base model, in int8: a tenth of the size.

The differences of a matrix are small, so that int8 with one scale per row loses less than casting the matrix to bf16.
Tensors that did not change are left out; vectors are stored as float32 differences, new heads as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError

Weights = Mapping[str, NDArray[np.float32]]
SCALE = ".scale"


def pack_difference(tuned: Weights, base: Weights) -> dict[str, NDArray[np.generic]]:
    """Return ``tuned`` minus ``base``: int8 with one scale per row for matrices, float32 for all else."""
    packed: dict[str, NDArray[np.generic]] = {}
    for name, value in tuned.items():
        if name not in base or base[name].shape != value.shape:
            packed[name] = value.astype(np.float32)
        elif np.array_equal(value, base[name]):
            continue
        elif value.ndim == 2:
            delta = value - base[name]
            scale = np.maximum(np.abs(delta).max(1, keepdims=True), 1e-12) / 127
            packed[name] = np.rint(delta / scale).astype(np.int8)
            packed[name + SCALE] = scale[:, 0].astype(np.float32)
        else:
            packed[name] = (value - base[name]).astype(np.float32)
    return packed


def unpack_difference(packed: Mapping[str, NDArray[np.generic]], base: Weights) -> dict[str, NDArray[np.float32]]:
    """Return the tuned weights. Raises ModelError if a tensor does not fit the base."""
    weights = {name: np.asarray(value, np.float32) for name, value in base.items()}
    for name, value in packed.items():
        if name.endswith(SCALE):
            continue
        delta = value.astype(np.float32)
        if name + SCALE in packed:
            delta = delta * np.asarray(packed[name + SCALE], np.float32)[:, None]
        if name in weights and weights[name].shape == delta.shape:
            weights[name] = weights[name] + delta
        elif name + SCALE in packed:
            raise ModelError(f"the difference of {name} does not fit its base model: the base has changed")
        else:
            weights[name] = delta
    return weights
