"""Pictures of how encoders place questions that share an answer: similarities and t-SNE (Wang et al. 2021, Fig. 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import INSTALL_TRAIN, InputError
from oreqa.evaluation.figures import new_figure, png

Floats = NDArray[np.float64]


def similarity_figure(panels: Mapping[str, Floats], sizes: Sequence[int]) -> bytes:
    """Matrices of question-question similarities beside each other, as PNG.

    ``panels`` are matrices ``[questions, questions]`` by their titles, in units that they share: all have one colour scale.
    ``sizes`` are the numbers of questions of the answers in turn; lines separate the answers, and their numbers from 1 stand
    at the margin. The diagonal is left blank: that a question is similar to itself says nothing.
    """
    off_diagonal = ~np.eye(sum(sizes), dtype=bool)
    shown = np.concatenate([matrix[off_diagonal] for matrix in panels.values()])
    lowest, highest = np.percentile(shown, [1, 99])
    edges = np.cumsum([0, *sizes])
    columns, rows = _layout(len(panels))
    figure = new_figure(3.6 * columns + 1.2, 3.8 * rows)
    grid = list(_grid(figure, panels))
    for axes, matrix in grid:
        picture = np.where(off_diagonal, matrix, np.nan)
        image = axes.imshow(picture, cmap="viridis", vmin=lowest, vmax=highest, interpolation="nearest")
        for edge in edges[1:-1] - 0.5:
            axes.axhline(edge, color="white", linewidth=1)
            axes.axvline(edge, color="white", linewidth=1)
        middles = (edges[:-1] + edges[1:] - 1) / 2
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(middles, labels=[str(number) for number in range(1, len(sizes) + 1)])
        axes.tick_params(length=0, labelsize=9 if len(sizes) <= 8 else 7)
        axes.spines[:].set_visible(False)
    figure.supxlabel("questions, by the number of their answer", fontsize=9)
    bar = figure.colorbar(image, ax=[axes for axes, _ in grid], shrink=0.8, aspect=25 * rows, extend="both")
    bar.set_label("similarity (0: mean of different answers;\n1: a standard deviation above it)", fontsize=9)
    bar.outline.set_visible(False)
    return png(figure)


def tsne_figure(panels: Mapping[str, tuple[Floats, Floats | None]], sizes: Sequence[int]) -> bytes:
    """Questions and their answers in the plane, one panel an encoder, as PNG.

    ``panels`` are coordinates of the questions ``[questions, 2]`` and of the answers ``[answers, 2]``, if there are any, by
    their titles. ``sizes`` are the numbers of questions of the answers in turn. A line leads from each question to its
    answer, or to the questions' mean; the answers' numbers count from 1.
    """
    columns, rows = _layout(len(panels))
    figure = new_figure(3.6 * columns, 3.8 * rows)
    from matplotlib import colormaps  # once new_figure has told matplotlib where its cache is
    from matplotlib.patheffects import withStroke

    owners = np.repeat(np.arange(len(sizes)), sizes)
    palette = colormaps["tab10" if len(sizes) <= 10 else "tab20"]
    for axes, (questions, answers) in _grid(figure, panels):
        for number in range(len(sizes)):
            colour, asked = palette(number % palette.N), questions[owners == number]
            centre = asked.mean(0) if answers is None else answers[number]
            for point in asked:
                axes.plot(*zip(centre, point, strict=True), color=colour, linewidth=0.8, alpha=0.4, zorder=1)
            axes.scatter(*asked.T, color=colour, s=22, linewidths=0, zorder=2)
            if answers is not None:
                axes.scatter(*centre, color=colour, s=170, marker="*", edgecolor="#1c2733", linewidths=0.7, zorder=3)
            outline = [withStroke(linewidth=1.5, foreground="white")]
            name = axes.annotate(str(number + 1), centre, (5, 5), textcoords="offset points", fontsize=9, weight="bold")
            name.set(path_effects=outline, zorder=4)
        points = questions if answers is None else np.concatenate([questions, answers])
        middle, reach = (points.max(0) + points.min(0)) / 2, 0.57 * np.ptp(points, axis=0).max()
        axes.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach))
        axes.set(xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_color("#ccd")
    what = "dots: questions" if all(a is None for _, a in panels.values()) else "dots: questions, stars: their answers"
    figure.supxlabel(what, fontsize=9)
    return png(figure)


def tsne(vectors: Floats, seed: int) -> Floats:
    """The rows of ``vectors`` in the plane, ``[points, 2]``, by t-SNE (Van der Maaten & Hinton 2008) of cosine distances.

    Raises InputError if scikit-learn is not installed.
    """
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise InputError(f"t-SNE needs scikit-learn: {INSTALL_TRAIN}") from error
    # The exact method gives the same numbers however many threads there are.
    settings = {"perplexity": perplexity(len(vectors)), "metric": "cosine", "init": "pca", "method": "exact"}
    return np.asarray(TSNE(random_state=seed, **settings).fit_transform(vectors), np.float64)


def perplexity(points: int) -> float:
    """How many neighbours count for each of ``points``, 4 or more: t-SNE's usual 30, of fewer points about a third.

    Below 2.5 the questions of an answer fall on one point.
    """
    return min(30.0, max(2.5, (points - 1) / 3))


def _layout(panels: int) -> tuple[int, int]:
    """Columns and rows of panels: up to three beside each other, and rows of nearly equal length."""
    rows = -(-panels // 3)
    return -(-panels // rows), rows


def _grid(figure: Any, panels: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The axes of each panel, titled, and what belongs there; rows are filled from the left."""
    columns, rows = _layout(len(panels))
    for place, (title, content) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(rows, columns, place)
        axes.set_title(title, fontsize=10, parse_math=False)  # a name may hold a $
        yield axes, content
