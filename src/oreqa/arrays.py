"""Names of array types in signatures, and a check of files that contain arrays."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
"""Scores, logits and vectors, as computed by models and stored in indexes."""

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
"""Files up to this size, in bytes, are read. Mapping one keeps it open, and a process can hold few files open."""


def mapped_array(path: Path) -> NDArray[Any]:
    """Return the array in an .npy file, mapped unless it is small, as a plain array: slicing a memmap is slow."""
    return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > _READ else None))


def check_whole(path: Path) -> None:
    """Raise OSError for a truncated array: numpy does not say whether its end reached the disk."""
    with path.open("rb") as stream:
        np.lib.format.read_magic(stream)
        shape, _, kind = np.lib.format.read_array_header_1_0(stream)
        if path.stat().st_size != stream.tell() + math.prod(shape) * kind.itemsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
