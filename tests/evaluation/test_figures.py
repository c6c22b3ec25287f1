from __future__ import annotations

import math

import numpy as np
import pytest

from oreqa.evaluation.figures import venn_circles, venn_figure

SETS = [
    (91, 160, 542),  # about the paper's
    (10, 10, 10),
    (1, 500, 3),
    (0, 300, 50),  # one inside the other
    (300, 0, 1),
    (0, 0, 70),  # equal
    (40, 30, 0),  # without a common member
    (0, 30, 0),  # one empty
    (0, 0, 0),
]


def areas(a: float, b: float, distance: float) -> tuple[float, float, float]:
    """The three regions' areas, by counting the points of a fine grid."""
    left, right, top = min(-a, distance - b), max(a, distance + b), max(a, b)
    x, y = np.meshgrid(np.linspace(left, right, 2000), np.linspace(-top, top, 2000))
    point = (x[0, 1] - x[0, 0]) * (y[1, 0] - y[0, 0])
    in_a, in_b = x**2 + y**2 <= a**2, (x - distance) ** 2 + y**2 <= b**2
    return tuple(float(region.sum() * point) for region in (in_a & ~in_b, in_b & ~in_a, in_a & in_b))  # type: ignore[return-value]


@pytest.mark.parametrize("sets", [s for s in SETS if any(s)])
def test_areas_are_true_to_the_numbers(sets: tuple[int, int, int]) -> None:
    assert areas(*venn_circles(*sets)) == pytest.approx(sets, rel=0.01, abs=0.005 * sum(sets))


def test_special_sets() -> None:
    assert venn_circles(0, 0, 0) == (0, 0, 0)
    a, b, distance = venn_circles(40, 30, 0)
    assert distance > a + b
    a, b, distance = venn_circles(0, 3, 1)
    assert distance <= b - a
    assert venn_circles(0, 0, 5) == (math.sqrt(5 / math.pi), math.sqrt(5 / math.pi), 0)


@pytest.mark.parametrize("sets", SETS)
def test_the_figure_names_every_region_that_holds_something(sets: tuple[int, int, int]) -> None:
    svg = venn_figure(*sets, total=1000)
    assert svg.startswith("<svg")
    shown = {f"{count / 1000:.1%}" for count in sets if count}
    assert all(f"<!-- {text} -->" in svg for text in shown)  # matplotlib draws letters and names the text beside them
    assert ("<!-- no errors -->" in svg) == (not any(sets))
    assert ("<!-- 0.0% -->" in svg) is False
