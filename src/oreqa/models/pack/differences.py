"""Weights kept as differences from another model's, in eight bits: a tuned model in a tenth of its size.

A matrix's difference is small against the matrix, so that a row's 255 steps round it far more finely than bf16 rounds
the matrix itself. Tensors that did not change are left out; vectors and heads are kept in full.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError

Weights = Mapping[str, NDArray[np.float32]]
SCALE = ".scale"


def pack_difference(tuned: Weights, base: Weights) -> dict[str, NDArray[np.generic]]:
    """What ``tuned`` adds to ``base``: int8 steps and a scale a row for matrices, float32 for all else."""
    packed: dict[str, NDArray[np.generic]] = {}
    for name, value in tuned.items():
        if name not in base or base[name].shape != value.shape:
            packed[name] = value.astype(np.float32)
        elif np.array_equal(value, base[name]):
            continue
        elif value.ndim == 2:
            added = value - base[name]
            scale = np.maximum(np.abs(added).max(1, keepdims=True), 1e-12) / 127
            packed[name] = np.rint(added / scale).astype(np.int8)
            packed[name + SCALE] = scale[:, 0].astype(np.float32)
        else:
            packed[name] = (value - base[name]).astype(np.float32)
    return packed


def unpack_difference(packed: Mapping[str, NDArray[np.generic]], base: Weights) -> dict[str, NDArray[np.float32]]:
    """The tuned weights again. Raises ModelError if a tensor does not fit the base."""
    weights = {name: np.asarray(value, np.float32) for name, value in base.items()}
    for name, value in packed.items():
        if name.endswith(SCALE):
            continue
        added = value.astype(np.float32)
        if name + SCALE in packed:
            added = added * np.asarray(packed[name + SCALE], np.float32)[:, None]
        if name in weights and weights[name].shape == added.shape:
            weights[name] = weights[name] + added
        elif name + SCALE in packed:
            raise ModelError(f"the difference of {name} does not fit its base model: the base is another one than it was")
        else:
            weights[name] = added
    return weights
