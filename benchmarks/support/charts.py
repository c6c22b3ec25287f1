"""What the plots of the results pages share: colours, bars with their values, and SVG that adapts to a dark page."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[2] / "results"

# Each colour on a light page, and its replacement on a dark one.
INK, DARK_INK = "#24292f", "#e6e8eb"
FAINT, DARK_FAINT = "#d0d7de", "#4a5058"
OURS, DARK_OURS = "#2e7d32", "#66bb6a"
OTHER, DARK_OTHER = "#8c959f", "#7d8590"
SECOND, DARK_SECOND = "#1565c0", "#64a5f0"
DARK = {INK: DARK_INK, FAINT: DARK_FAINT, OURS: DARK_OURS, OTHER: DARK_OTHER, SECOND: DARK_SECOND}

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "oreqa",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "x",
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.left": False,
    "legend.frameon": False,
}


def read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def bars(axes: Axes, labels: Sequence[str], values: Sequence[float], colours: Sequence[str], form: str) -> None:
    """Draw horizontal bars from top to bottom, each with its value at its end."""
    places = range(len(labels))
    drawn = axes.barh(places, values, color=colours, height=0.62)
    axes.bar_label(drawn, labels=[form.format(value) for value in values], padding=4, color=INK)
    axes.set_yticks(places, labels)
    axes.invert_yaxis()


def bars_with_errors(
    axes: Axes, labels: Sequence[str], values: Sequence[float], errors: Sequence[float], colours: Sequence[str]
) -> None:
    """Draw horizontal bars from top to bottom, each with its error, and its value behind that."""
    places = range(len(labels))
    axes.barh(places, values, xerr=errors, color=colours, ecolor=INK, capsize=4, height=0.62)
    for place, value, error in zip(places, values, errors, strict=True):
        axes.text(value + error + 1, place, f"{value:.1f}", va="center")
    axes.set_yticks(places, labels)
    axes.invert_yaxis()


def paired_bars(axes: Axes, labels: Sequence[str], series: Mapping[str, Sequence[float]], form: str) -> None:
    """Draw two horizontal bars for each label, from top to bottom, each with its value at its end."""
    for offset, ((name, values), colour) in enumerate(zip(series.items(), (OTHER, OURS), strict=True)):
        drawn = axes.barh([row + 0.36 * offset for row in range(len(labels))], values, height=0.34, color=colour, label=name)
        axes.bar_label(drawn, fmt=form, padding=4, color=INK)
    axes.set_yticks([row + 0.18 for row in range(len(labels))], list(labels))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)


def triple_bars(
    axes: Axes, labels: Sequence[str], series: Mapping[str, Sequence[float]], colours: Sequence[str], form: str
) -> None:
    """Draw three horizontal bars for each label, from top to bottom, each with its value at its end."""
    for place, ((name, values), colour) in enumerate(zip(series.items(), colours, strict=True)):
        drawn = axes.barh([row + 0.27 * place for row in range(len(labels))], values, height=0.25, color=colour, label=name)
        axes.bar_label(drawn, fmt=form, padding=4, color=INK)
    axes.set_yticks([row + 0.27 for row in range(len(labels))], list(labels))
    axes.invert_yaxis()


def svg(draw: Callable[[Axes], None], height: float) -> str:
    """Return the plot as an SVG file whose colours adapt to a dark page, without date or random identifiers."""
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        figure = Figure(figsize=(6.4, height), layout="constrained")
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    rules = "".join(
        f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }}\n'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{rules}}}</style>\n"
    text = file.getvalue()
    return text.replace("<defs>", f"{style}<defs>", 1)
