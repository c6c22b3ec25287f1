"""Names of the kinds of arrays that signatures speak of."""

from __future__ import annotations

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
