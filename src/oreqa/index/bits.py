"""One bit a number: whether it is above zero. The bits of a vector are told from its codes, and from nothing else.

Vectors that are near each other differ in few bits (Charikar 2002), and bits are counted much faster than numbers are
multiplied. So a search of many vectors takes those that differ least from the question, and compares their codes alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, Rows, mapped_array
from oreqa.index.codes import Codes

Bits = NDArray[np.uint64]
"""The bits of vectors by their words of 64, ``[words, vectors]``: the n-th words of all vectors stand together."""

FEWEST_VECTORS, FEWEST_NUMBERS = 20_000, 256
"""Vectors that are searched by their bits are at least so many, of so many numbers: bits of fewer tell little, and fewer
vectors are compared by all of their codes in a moment."""

_BLOCK = 1 << 15
"""Vectors whose bits are made or counted at a time: they stay in the processor's cache."""


def searched_by_bits(codes: Codes) -> bool:
    """Whether these vectors are so many and so wide that they are searched by their bits."""
    return len(codes) >= FEWEST_VECTORS and codes["codes"].shape[1] >= FEWEST_NUMBERS


def bits_of(codes: Codes) -> Bits:
    """The bits of stored vectors."""
    blocks = [_packed(codes["codes"][begin : begin + _BLOCK]) for begin in range(0, len(codes), _BLOCK)]
    return np.concatenate(blocks, axis=1) if blocks else _packed(codes["codes"])


def _packed(numbers: NDArray[Any]) -> Bits:
    packed = np.packbits(numbers > 0, axis=1)
    words = -(-packed.shape[1] // 8)
    wide = np.zeros((len(packed), 8 * words), np.uint8)
    wide[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(wide.view("<u8").T)


def mapped_bits(path: Path, codes: Codes) -> Bits:
    """The bits of stored vectors in an .npy file, mapped into memory. Raises ValueError if they are of others."""
    bits: Bits = mapped_array(path)
    if bits.shape != (-(-codes["codes"].shape[1] // 64), len(codes)):
        raise ValueError(f"{path} does not hold the bits of {len(codes)} vectors")
    return bits


def differences(question: Floats, bits: Bits) -> NDArray[np.uint16]:
    """The number of bits in which a question's vector, ``[dim]``, and each stored vector differ: ``[vectors]``."""
    words = _packed(question[None])[:, 0]
    counts = np.zeros(bits.shape[1], np.uint16)
    size = min(bits.shape[1], _BLOCK)
    differing, ones = np.empty(size, np.uint64), np.empty(size, np.uint8)
    for begin in range(0, len(counts), max(1, size)):
        of_block = counts[begin : begin + size]
        for word, theirs in zip(words, bits[:, begin : begin + size], strict=True):
            np.bitwise_xor(theirs, word, out=differing[: len(of_block)])
            np.bitwise_count(differing[: len(of_block)], out=ones[: len(of_block)])
            of_block += ones[: len(of_block)]
    return counts


def fewest(counts: NDArray[np.uint16], number: int) -> Rows:
    """The rows of the ``number`` lowest counts, rising, with all that equal the highest of them."""
    if number >= len(counts):
        return np.arange(len(counts))
    blocks, size = range(0, len(counts), _BLOCK), int(counts.max()) + 1
    often = np.sum([np.bincount(counts[begin : begin + _BLOCK], minlength=size) for begin in blocks], axis=0)
    return np.flatnonzero(counts <= np.searchsorted(np.cumsum(often), number))
