"""Whether a function's time grows with its input or with the square of it."""

from __future__ import annotations

import time
from collections.abc import Callable


def growth(work: Callable[[str], object], make: Callable[[int], str], size: int) -> float:
    """How many times as long four times the input takes: 4 for linear time, 16 for quadratic.

    A busy machine can double either time: a high ratio is measured again, up to three times, and the lowest one counts.
    """
    ratios: list[float] = []
    while not ratios or (ratios[-1] > 6 and len(ratios) < 3):
        ratios.append(_seconds(work, make(4 * size)) / _seconds(work, make(size)))
    return min(ratios)


def _seconds(work: Callable[[str], object], text: str) -> float:
    best = float("inf")
    for _ in range(3):
        begun = time.process_time()
        work(text)
        best = min(best, time.process_time() - begun)
    return best + 1e-4
