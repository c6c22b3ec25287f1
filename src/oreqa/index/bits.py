"""Binary codes: one bit per number, set if it is above zero. They are computed from the vector's stored code alone.

Vectors near each other differ in few bits (Charikar 2002), and counting bits is much faster than multiplying numbers. A
search of many vectors therefore selects those that differ least from the question, and compares only their codes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, Rows, mapped_array
from oreqa.index.codes import Codes

Bits = NDArray[np.uint64]
"""The bits of vectors in 64-bit words, ``[words, vectors]``: the n-th words of all vectors are contiguous."""

FEWEST_VECTORS, FEWEST_NUMBERS = 20_000, 256
"""The fewest vectors, and numbers per vector, that are searched by bits: bits of shorter vectors say little, and fewer
vectors are quickly compared by all of their codes."""

_BLOCK = 1 << 15
"""Vectors whose bits are computed or counted at a time: they fit into the processor's cache."""


def searched_by_bits(codes: Codes) -> bool:
    """Return whether there are enough vectors, of enough numbers, to search them by bits."""
    return len(codes) >= FEWEST_VECTORS and codes["codes"].shape[1] >= FEWEST_NUMBERS


def bits_of(codes: Codes) -> Bits:
    """Compute the bits of stored vectors."""
    blocks = [_packed(codes["codes"][begin : begin + _BLOCK]) for begin in range(0, len(codes), _BLOCK)]
    return np.concatenate(blocks, axis=1) if blocks else _packed(codes["codes"])


def _packed(numbers: NDArray[Any]) -> Bits:
    packed = np.packbits(numbers > 0, axis=1)
    words = -(-packed.shape[1] // 8)
    wide = np.zeros((len(packed), 8 * words), np.uint8)
    wide[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(wide.view("<u8").T)


def mapped_bits(path: Path, codes: Codes) -> Bits:
    """Map the bits of stored vectors from an .npy file into memory. Raises ValueError if they do not fit the vectors."""
    bits: Bits = mapped_array(path)
    if bits.shape != (-(-codes["codes"].shape[1] // 64), len(codes)):
        raise ValueError(f"{path} does not hold the bits of {len(codes)} vectors")
    return bits


def differences(question: Floats, bits: Bits) -> NDArray[np.uint16]:
    """Return the Hamming distance between a question's vector, ``[dim]``, and each stored vector: ``[vectors]``."""
    words = _packed(question[None])[:, 0]
    counts = np.zeros(bits.shape[1], np.uint16)
    size = min(bits.shape[1], _BLOCK)
    differing, ones = np.empty(size, np.uint64), np.empty(size, np.uint8)
    for begin in range(0, len(counts), max(1, size)):
        block_counts = counts[begin : begin + size]
        for word, theirs in zip(words, bits[:, begin : begin + size], strict=True):
            np.bitwise_xor(theirs, word, out=differing[: len(block_counts)])
            np.bitwise_count(differing[: len(block_counts)], out=ones[: len(block_counts)])
            block_counts += ones[: len(block_counts)]
    return counts


def fewest(counts: NDArray[np.uint16], number: int) -> Rows:
    """Return the rows of the ``number`` lowest counts, in rising order, with all ties of the highest."""
    if number >= len(counts):
        return np.arange(len(counts))
    blocks, size = range(0, len(counts), _BLOCK), int(counts.max()) + 1
    often = np.sum([np.bincount(counts[begin : begin + _BLOCK], minlength=size) for begin in blocks], axis=0)
    return np.flatnonzero(counts <= np.searchsorted(np.cumsum(often), number))
