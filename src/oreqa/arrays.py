"""Names of the kinds of arrays that signatures speak of, and a check of the files that hold some."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
"""Scores, logits and vectors, as models compute and indexes store them."""

Doubles = NDArray[np.float64]
"""Numbers that are averaged, tested or fitted."""

Reals = NDArray[np.floating]
"""Floats or Doubles."""

Flags = NDArray[np.bool_]

Ints = NDArray[np.int32]
"""Numbers of words, tokens and clusters."""

Ids = NDArray[np.int64]
"""SQLite's ids of sentences or passages."""

Rows = NDArray[np.intp]
"""Positions in another array."""


_READ = 1 << 20
"""Files up to this size, in bytes, are read. Mapping one keeps it open, and a process may hold few files open."""


def mapped_array(path: Path) -> NDArray[Any]:
    """The array in an .npy file, mapped into memory unless it is small. A plain one: slices of a mapped one take long."""
    return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > _READ else None))


def check_whole(path: Path) -> None:
    """Raise OSError for an array that lacks its end: numpy does not say whether that reached the disk."""
    with path.open("rb") as stream:
        np.lib.format.read_magic(stream)
        shape, _, kind = np.lib.format.read_array_header_1_0(stream)
        if path.stat().st_size != stream.tell() + math.prod(shape) * kind.itemsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
