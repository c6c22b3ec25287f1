"""Whether a function's time grows with its input or with the square of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from timeit import repeat
from typing import TypeVar

T = TypeVar("T")


ENOUGH = 0.02
"""Processor seconds that tell how time grows: what takes longer is tried on less, and once."""


def growth(work: Callable[[T], object], make: Callable[[int], T], size: int) -> float:
    """How many times as long four times the input takes: 4 for linear time, 16 for quadratic.

    Inputs have ``size`` at most. A busy machine can double either time: a high ratio is measured again, up to three times, and
    the lowest one counts.
    """
    seconds = _seconds(work, make(size))
    if seconds > 2 * ENOUGH:
        size = max(1, int(size * ENOUGH / seconds))
        seconds = _seconds(work, make(size))
    ratios = [_seconds(work, make(4 * size)) / seconds]
    while ratios[-1] > 6 and len(ratios) < 3:
        ratios.append(_seconds(work, make(4 * size)) / _seconds(work, make(size)))
    return min(ratios)


def _seconds(work: Callable[[T], object], argument: T) -> float:
    """Processor time, without that of the garbage collector, which grows with all that the test process holds."""
    times: list[float] = []
    while len(times) < 3 and sum(times) < ENOUGH:
        times += repeat(lambda: work(argument), timer=time.process_time, number=1, repeat=1)
    return min(times) + 1e-4
