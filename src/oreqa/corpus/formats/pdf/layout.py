"""A PDF's packed layout: for each stretch of the document's text, its page, line and part of the line.

It is a list of blocks, then the blocks, of which only the needed ones are unpacked. A block has five columns of numbers,
one row per stretch: its start relative to the last stretch, how many pages and lines later it is, its offset in the line,
and its length. Numbers are zigzagged varints, seven bits per byte, lowest first; blocks are compressed.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from oreqa.corpus.formats.pdf.stretches import Stretch
from oreqa.errors import DocumentError

_COUNT = struct.Struct("<I")
_BLOCK = struct.Struct("<II")
"""The character at which a block's first stretch starts, and the block's size in bytes."""
_ROWS = 1000
"""Stretches per block: some 20 pages."""


def pack_layout(stretches: Sequence[Stretch]) -> bytes:
    """Pack stretches, given in text order; no stretches give no bytes."""
    if not stretches:
        return b""
    groups = [stretches[at : at + _ROWS] for at in range(0, len(stretches), _ROWS)]
    blocks = [zlib.compress(_packed(group), 9) for group in groups]
    entries = [_BLOCK.pack(group[0].start, len(block)) for group, block in zip(groups, blocks, strict=True)]
    return b"".join((_COUNT.pack(len(blocks)), *entries, *blocks))


def stretches_between(layout: bytes, start: int, end: int) -> list[Stretch]:
    """Return the parts of a packed layout's stretches with the characters ``start`` to ``end`` of the text, in order.

    Raises DocumentError if the layout is damaged.
    """
    if not layout:
        return []
    parts = []
    try:
        (count,) = _COUNT.unpack_from(layout)
        entries = [_BLOCK.unpack_from(layout, _COUNT.size + at * _BLOCK.size) for at in range(count)]
        places = list(accumulate((size for _, size in entries), initial=_COUNT.size + count * _BLOCK.size))
        starts = [first for first, _ in entries]
        for at in range(max(0, bisect_right(starts, start) - 1), bisect_right(starts, end - 1)):
            for stretch in _unpacked(zlib.decompress(layout[places[at] : places[at + 1]]), starts[at]):
                a, b = max(start, stretch.start), min(end, stretch.start + stretch.length)
                if a < b:
                    parts.append(Stretch(a, stretch.page, stretch.line, stretch.first + a - stretch.start, b - a))
    except (zlib.error, struct.error, ValueError) as error:
        raise DocumentError("what the index holds of its layout is damaged: index it again") from error
    return parts


def _packed(stretches: Sequence[Stretch]) -> bytes:
    rows = []
    end, page, line = stretches[0].start, 0, 0
    for stretch in stretches:
        rows.append((stretch.start - end, stretch.page - page, stretch.line - line, stretch.first, stretch.length))
        end, page, line = stretch.start + stretch.length, stretch.page, stretch.line
    return _varints(number for column in zip(*rows, strict=True) for number in column)


def _unpacked(data: bytes, start: int) -> Iterable[Stretch]:
    """Return the stretches of a block, the first one starting at ``start``. Raises ValueError if they are damaged."""
    numbers = _numbers(data)
    columns = [numbers[at : at + len(numbers) // 5] for at in range(0, len(numbers), max(1, len(numbers) // 5))]
    page = line = 0
    for gap, pages, lines, first, length in zip(*columns, strict=True):
        start, page, line = start + gap, page + pages, line + lines
        yield Stretch(start, page, line, first, length)
        start += length


def _varints(numbers: Iterable[int]) -> bytes:
    data = bytearray()
    for number in numbers:
        rest = 2 * number if number >= 0 else -2 * number - 1
        while rest > 0x7F:
            data.append(rest & 0x7F | 0x80)
            rest >>= 7
        data.append(rest)
    return bytes(data)


def _numbers(data: bytes) -> list[int]:
    numbers = []
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number >> 1 if number & 1 == 0 else -(number >> 1) - 1)
            number = shift = 0
    return numbers
