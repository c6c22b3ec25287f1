"""The codes of several segments, taken as one array."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oreqa.index.codes import quantise
from oreqa.index.stacked import StackedCodes


class Part:
    """The rows of a segment, of which some are dead."""

    def __init__(self, size: int, dead: list[int]) -> None:
        self.dead, self.live = np.array(dead, int), np.setdiff1d(np.arange(size), dead)

    def __len__(self) -> int:
        return len(self.live)

    def rows(self, places: Any) -> Any:
        return self.live[places]


@pytest.mark.parametrize("rows", [[], [0], [0, 1, 2, 3, 4, 5], [2, 3, 5], [4, 4]])
def test_rising_rows_are_those_of_all_live_codes(rows: list[int]) -> None:
    parts = [Part(4, [1, 3]), Part(2, [0, 1]), Part(4, [])]
    rng = np.random.default_rng(0)
    codes = [quantise(rng.standard_normal((size, 3), np.float32)) for size in (4, 2, 4)]
    segments: Any = [
        SimpleNamespace(vectors={"passage": code}, words={"passage": part}) for code, part in zip(codes, parts, strict=True)
    ]
    stacked = StackedCodes(segments, "passage")
    every = np.concatenate([code[part.live] for code, part in zip(codes, parts, strict=True)])
    assert len(stacked) == len(every) == 6
    assert stacked.take(np.array(rows, int)).tobytes() == every[rows].tobytes()
