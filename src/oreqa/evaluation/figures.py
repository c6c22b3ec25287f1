"""The figures of reports, as SVG: a curve of ranks, a histogram, calibration, and a Venn diagram of two systems' errors."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from oreqa.arrays import Reals
from oreqa.evaluation.metrics import Bin
from oreqa.paths import cache_folder

VENN_COLOURS = ("#c26a2b", "#2f6f9f")
"""The colours of the first and the second set."""


def rank_curve(best_ranks: Sequence[float]) -> str:
    """Plot the share of questions whose first gold is within the top N, as SVG.

    ``best_ranks`` has one rank per question, from 1.
    """
    best = np.array(best_ranks)
    depths = np.unique(np.round(np.logspace(0, 2, 40)))
    figure = new_figure(7, 3)
    axes = figure.add_subplot()
    axes.plot(depths, [100 * np.mean(best <= depth) for depth in depths], color="#2f7d4f", linewidth=2)
    axes.set(xscale="log", xlabel="N", ylabel="questions with a gold in the top N, %", ylim=(0, 100), xlim=(1, 100))
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100], labels=["1", "2", "5", "10", "20", "50", "100"])
    style_axes(axes)
    return _svg(figure)


def calibration_figure(bins: Sequence[Bin]) -> str:
    """Plot accuracy against confidence, with the diagonal of perfect calibration, as SVG."""
    figure = new_figure(4.5, 4)
    _plot_calibration(figure.add_subplot(), bins, "p, %", "share that answers, %")
    return _svg(figure)


def trust_figure(bins: Sequence[Bin], coverage: Reals, risk: Reals) -> str:
    """Plot right answers against confidence, and the share of wrong ones, ``risk``, against questions answered, as SVG."""
    figure = new_figure(9, 3.6)
    left, right = figure.subplots(1, 2)
    _plot_calibration(left, bins, "confidence, %", "answers that are right, %")
    right.plot(100 * coverage, 100 * risk, color="#2f7d4f", linewidth=2)
    right.set(xlabel="questions answered, the surest first, %", ylabel="wrong answers among them, %")
    right.set(xlim=(0, 100), ylim=(0, 100))
    style_axes(right)
    return _svg(figure)


def _plot_calibration(axes: Any, bins: Sequence[Bin], across: str, up: str) -> None:
    axes.plot([0, 100], [0, 100], color="#99a", linewidth=1, linestyle="--")
    confidence, accuracy = ([100 * getattr(row, name) for row in bins] for name in ("confidence", "accuracy"))
    axes.plot(confidence, accuracy, color="#2f7d4f", linewidth=2, marker="o", markersize=4)
    axes.set(xlabel=across, ylabel=up, xlim=(0, 100), ylim=(0, 100))
    style_axes(axes)


def histogram(values: Sequence[float], label: str, counted: str) -> str:
    """Plot how many of ``values``, in percent, are in each twentieth, as SVG."""
    figure = new_figure(7, 3)
    axes = figure.add_subplot()
    axes.hist(values, bins=20, range=(0, 100), color="#2f7d4f")
    axes.set(xlabel=label, ylabel=counted, xlim=(0, 100))
    style_axes(axes)
    return _svg(figure)


def venn_circles(only_a: int, only_b: int, both: int) -> tuple[float, float, float]:
    """Return radii of two circles and the distance of their centres that make the areas of the three regions the numbers.

    An empty set has radius 0. Disjoint sets do not touch; a set inside the other touches its border.
    """
    a, b = (math.sqrt((only + both) / math.pi) for only in (only_a, only_b))
    nearest, farthest = abs(a - b), a + b
    if both == 0:
        return a, b, 1.05 * farthest
    if not only_a or not only_b:
        return a, b, nearest
    for _ in range(60):  # the overlap shrinks as the distance grows: bisection to the last bit
        distance = (nearest + farthest) / 2
        if _overlap(a, b, distance) > both:
            nearest = distance
        else:
            farthest = distance
    return a, b, distance


def _overlap(a: float, b: float, distance: float) -> float:
    """Return the common area of two circles with radii ``a`` and ``b`` whose borders cross."""
    to_chord = (distance**2 + a**2 - b**2) / (2 * distance)
    segments = 0.0
    for radius, height in ((a, to_chord), (b, distance - to_chord)):
        cosine = max(-1.0, min(1.0, height / radius))
        segments += radius**2 * (math.acos(cosine) - cosine * math.sqrt(1 - cosine**2))
    return segments


def venn_figure(only_a: int, only_b: int, both: int, total: int) -> str:
    """Draw two sets of a population of ``total`` as circles in ``VENN_COLOURS``, as SVG; numbers are percent of the total.

    All areas have the same scale. A region too narrow for its number has it above, connected by a line.
    """
    figure = new_figure(5, 3)
    from matplotlib.patches import Circle  # after new_figure has told matplotlib where its cache is

    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    a, b, distance = venn_circles(only_a, only_b, both)
    left, right = min(-a, distance - b), max(a, distance + b)
    top = max(a, b) or 1.0
    width = max(right - left, 2 * top, 1e-9)
    for centre, radius, colour in ((0.0, a, VENN_COLOURS[0]), (distance, b, VENN_COLOURS[1])):
        if radius:
            axes.add_patch(Circle((centre, 0), radius, facecolor=colour, alpha=0.35, edgecolor="none"))
            axes.add_patch(Circle((centre, 0), radius, fill=False, edgecolor=colour, linewidth=1.5))
    regions = (
        (only_a, _outside((-a, a), (distance - b, distance + b)), -0.22),
        (both, (max(-a, distance - b), min(a, distance + b)), 0.0),
        (only_b, _outside((distance - b, distance + b), (-a, a)), 0.22),
    )
    for count, (begin, end), shift in regions:
        if not count:
            continue
        middle, text = (begin + end) / 2, f"{count / total:.1%}"
        if end - begin > 0.16 * width:
            axes.text(middle, 0, text, ha="center", va="center", fontsize=11)
        else:
            axes.annotate(
                text,
                (middle, 0),
                ((left + right) / 2 + shift * width, 1.2 * top),
                ha="center",
                va="bottom",
                fontsize=11,
                arrowprops={"arrowstyle": "-", "color": "#445", "linewidth": 0.8, "shrinkB": 0},
            )
    margin = 0.06 * width
    centre = (left + right) / 2
    axes.set(xlim=(centre - width / 2 - margin, centre + width / 2 + margin), ylim=(-1.08 * top, 1.45 * top))
    if not (only_a or only_b or both):
        axes.text(centre, 0, "no errors", ha="center", va="center", color="#667")
    return _svg(figure)


def _outside(inner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the widest part of an interval outside another one."""
    before = (inner[0], min(inner[1], max(inner[0], other[0])))
    after = (max(inner[0], min(inner[1], other[1])), inner[1])
    return max(before, after, key=lambda part: part[1] - part[0])


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, sized in inches. matplotlib's font cache goes to our cache folder, not the user's home."""
    os.environ.setdefault("MPLCONFIGDIR", str(cache_folder() / "matplotlib"))
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def style_axes(axes: Any) -> None:
    """Add a faint grid, and remove the frame at the top and right."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _svg(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue().decode()
    return svg[svg.index("<svg") :]
