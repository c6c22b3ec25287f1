from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from oreqa.evaluation.significance import paired_difference


def test_p_value_is_that_of_all_sign_flips() -> None:
    a, b = [0.1, 0.4, 0.3, 0.2, 0.9, 0.5, 0.0], [0.5, 0.6, 0.2, 0.9, 1.0, 0.5, 0.3]
    delta = np.subtract(b, a)
    flips = [abs(np.dot(signs, delta)) for signs in product((-1, 1), repeat=len(delta))]
    exact = np.mean([f >= abs(delta.sum()) - 1e-12 for f in flips])
    found = paired_difference(a, b)
    assert found.p == pytest.approx(exact, abs=0.02)
    assert found.mean == pytest.approx(delta.mean())
    assert found.low < found.mean < found.high


def test_equal_systems_do_not_differ() -> None:
    found = paired_difference([0.0, 1.0, 0.5] * 10, [0.0, 1.0, 0.5] * 10)
    assert (found.mean, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_clear_difference_and_its_seed() -> None:
    rng = np.random.default_rng(0)
    a = rng.random(500)
    b = a + rng.normal(0.1, 0.05, 500)
    assert paired_difference(a, b).p == pytest.approx(1e-4, rel=0.01)
    assert paired_difference(a, b, 3) == paired_difference(a, b, 3)


def test_unpaired_values_are_refused() -> None:
    with pytest.raises(ValueError, match="paired values are needed: 1 and 2"):
        paired_difference([1], [1, 2])
    with pytest.raises(ValueError, match="paired"):
        paired_difference([], [])
