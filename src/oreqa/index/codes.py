"""Vectors with one byte per number: whole numbers from -127 to 127 and the scale that one unit stands for.

Each vector has its own scale, so its code depends only on its text and its encoder: nothing is fitted to a collection, no
number is out of range, and an index that grew equals one built at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, mapped_array

Codes = NDArray[np.void]
"""Stored vectors, ``[vectors]``: rows of a ``scale`` and ``codes``, as ``code_type`` describes them."""

_LARGEST = 127
_BLOCK, _LARGE_BLOCK = 256, 8192
"""Vectors decoded at a time, for one question and for several: the first block fits into the processor's cache; matrix
products with several questions pay only if they are large."""


def code_type(dim: int) -> np.dtype[Any]:
    """Return the layout of one stored vector of ``dim`` numbers."""
    return np.dtype([("scale", "<f4"), ("codes", "i1", (dim,))])


def quantise(vectors: Floats) -> Codes:
    """Encode vectors, ``[vectors, dim]``. Each number changes by at most half of its vector's scale."""
    rows = np.zeros(len(vectors), code_type(vectors.shape[1]))
    rows["scale"] = np.abs(vectors).max(axis=1, initial=0.0) / _LARGEST
    divisors = np.where(rows["scale"] > 0, rows["scale"], 1.0)
    rows["codes"] = np.rint(vectors / divisors[:, None]).clip(-_LARGEST, _LARGEST)
    return rows


def stored_codes(data: bytes | NDArray[np.uint8], count: int) -> Codes:
    """View ``count`` stored vectors in their bytes, without copying."""
    kind = code_type(0)
    return np.frombuffer(data, code_type(len(data) // count - kind.itemsize))


def mapped_codes(path: Path, count: int) -> Codes:
    """Map the stored vectors of an .npy file into memory. Raises ValueError unless there are ``count``."""
    rows: Codes = mapped_array(path)
    if len(rows) != count:
        raise ValueError(f"{path} holds {len(rows)} vectors for {count} texts")
    return rows


def vectors_of(rows: Codes) -> Floats:
    """Decode stored vectors: ``[vectors, dim]``.

    Examples:
        >>> vectors_of(quantise(np.array([[0.5, -1.27]], np.float32))).tolist()
        [[0.5, -1.2699999809265137]]
    """
    vectors: Floats = rows["codes"].astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # from a damaged scale; the search refuses scores that are no numbers
        vectors *= rows["scale"][:, None]
    return vectors


def inner_products(questions: Floats, rows: Codes) -> Floats:
    """Return the inner product of every question and every stored vector: ``[questions, vectors]``."""
    out = np.empty((len(questions), len(rows)), np.float32)
    size, codes = min(len(rows), _BLOCK if len(questions) == 1 else _LARGE_BLOCK), rows["codes"]
    buffer = np.empty((size, questions.shape[1]), np.float32)
    for begin in range(0, len(rows), max(1, size)):
        block = codes[begin : begin + size]
        np.copyto(buffer[: len(block)], block)
        np.matmul(questions, buffer[: len(block)].T, out=out[:, begin : begin + len(block)])
    with np.errstate(over="ignore", invalid="ignore"):
        out *= rows["scale"]
    return out
