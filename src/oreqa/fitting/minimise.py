"""Minimise a smooth function of a few parameters: BFGS with a backtracking line search (Nocedal and Wright 2006, 6.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oreqa.arrays import Doubles

MAX_STEPS, MAX_HALVINGS = 500, 40

Objective = Callable[[Doubles], tuple[float, Doubles]]
"""The value of a function at a point, and its gradient there."""


def minimise(loss: Objective, start: Doubles, tolerance: float = 1e-7) -> Doubles:
    """The point where the gradient's largest part is below ``tolerance``, from ``start`` on; the best one reached otherwise.

    Examples:
        >>> minimise(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)).round(6).tolist()
        [3.0, 3.0]
    """
    point = start.astype(np.float64)
    value, slope = loss(point)
    inverse = np.eye(len(point))
    for _ in range(MAX_STEPS):
        if np.abs(slope).max(initial=0.0) < tolerance:
            break
        direction = -inverse @ slope
        if direction @ slope >= 0:  # rounding has spoilt the inverse of the Hessian
            inverse, direction = np.eye(len(point)), -slope
        step = 1.0
        for _ in range(MAX_HALVINGS):
            next_value, next_slope = loss(point + step * direction)
            if next_value <= value + 1e-4 * step * float(direction @ slope):
                break
            step /= 2
        else:
            break
        moved, bent = step * direction, next_slope - slope
        point, value, slope = point + moved, next_value, next_slope
        curvature = float(moved @ bent)
        if curvature > 1e-12:
            left = np.eye(len(point)) - np.outer(moved, bent) / curvature
            inverse = left @ inverse @ left.T + np.outer(moved, moved) / curvature
    return point
