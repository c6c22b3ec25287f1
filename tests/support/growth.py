"""Whether a function's time grows with its input or with the square of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from timeit import repeat
from typing import TypeVar

T = TypeVar("T")


def growth(work: Callable[[T], object], make: Callable[[int], T], size: int) -> float:
    """How many times as long four times the input takes: 4 for linear time, 16 for quadratic.

    A busy machine can double either time: a high ratio is measured again, up to three times, and the lowest one counts.
    """
    ratios: list[float] = []
    while not ratios or (ratios[-1] > 6 and len(ratios) < 3):
        ratios.append(_seconds(work, make(4 * size)) / _seconds(work, make(size)))
    return min(ratios)


def _seconds(work: Callable[[T], object], argument: T) -> float:
    """Processor time, without that of the garbage collector, which grows with all that the test process holds."""
    return min(repeat(lambda: work(argument), timer=time.process_time, number=1, repeat=3)) + 1e-4
