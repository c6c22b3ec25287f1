"""Names of the kinds of arrays that signatures speak of, and a check of the files that hold some."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path

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


def check_whole(path: Path) -> None:
    """Raise OSError for an array that lacks its end: numpy does not say whether that reached the disk."""
    with path.open("rb") as stream:
        np.lib.format.read_magic(stream)
        shape, _, kind = np.lib.format.read_array_header_1_0(stream)
        if path.stat().st_size != stream.tell() + math.prod(shape) * kind.itemsize:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
