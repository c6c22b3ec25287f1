from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from oreqa.arrays import Doubles
from oreqa.fitting.minimise import minimise


def test_a_curved_valley() -> None:
    start = np.array([-1.2, 1.0, 0.5])
    point = minimise(lambda x: (float(rosen(x)), rosen_der(x)), start)
    assert point == pytest.approx(np.ones(3), abs=1e-5)


def test_parts_of_very_different_scale() -> None:
    rng = np.random.default_rng(0)
    scales, centre = np.array([1e4, 1.0, 1e-3]), rng.normal(size=3)

    def loss(x: Doubles) -> tuple[float, Doubles]:
        return float(scales @ (x - centre) ** 2), 2 * scales * (x - centre)

    slow = minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}).x
    assert minimise(loss, np.zeros(3), 1e-9) == pytest.approx(slow, abs=1e-5)


def test_it_stops_where_nothing_gets_better() -> None:
    flat = minimise(lambda x: (0.0, np.zeros(2)), np.array([3.0, 4.0]))
    assert flat.tolist() == [3.0, 4.0]
    wrong_slope = minimise(lambda x: (float(x @ x), -2 * x), np.array([1.0, 1.0]))
    assert wrong_slope.tolist() == [1.0, 1.0]
