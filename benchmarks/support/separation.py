"""How encoders place questions that share an answer: a report of pictures and a number (Wang et al. 2021, Fig. 3 and 4)."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Doubles, Flags, Rows
from oreqa.errors import InputError
from oreqa.evaluation.figures import new_figure
from oreqa.evaluation.frame import run_folder
from oreqa.evaluation.report import write_page
from oreqa.files import write_bytes, write_json
from oreqa.provenance import versions


@dataclass(frozen=True, slots=True)
class Separation:
    """How far pairs that share an answer stand out by their inner products.

    ``same`` and ``different`` are the mean inner products of pairs that share an answer and of those that do not;
    ``spread`` is the standard deviation of the latter. ``separation`` is (same − different) / spread, Glass's delta. It
    depends neither on the vectors' scale nor on how similar an encoder finds all texts, so it can compare encoders.
    """

    same: float
    different: float
    spread: float
    separation: float


def pair_separation(similarities: Doubles, shared: Flags) -> Separation:
    """Return the separation of pairs, from their inner products and whether each shares an answer, both ``[pairs]``.

    Raises InputError if there are no pairs of one kind, or if the pairs with different answers are all equally similar.
    """
    if shared.all() or not shared.any():
        raise InputError("a separation takes pairs that share an answer and pairs that do not")
    others = similarities[~shared]
    same, different, spread = float(similarities[shared].mean()), float(others.mean()), float(others.std())
    if spread <= 1e-9 * max(1e-30, float(np.abs(others).max())):
        raise InputError("its vectors of different answers are all equally similar")
    return Separation(same, different, spread, (same - different) / spread)


def write_geometry(
    out: Path,
    groups: Sequence[tuple[str, Sequence[str]]],
    vectors: Mapping[str, tuple[Doubles, Doubles]],
    seed: int = 0,
) -> dict[str, Any]:
    """Show how encoders place questions that share an answer.

    ``groups`` are at least two answers, each with at least two questions. ``vectors`` maps the encoder's name to the vectors
    of the questions in the order of the groups, ``[questions, dim]``, and of the answers, ``[answers, dim]``, of any length:
    similarity is their inner product, as in search. t-SNE, seeded with ``seed``, uses the cosine distance.

    Writes ``similarities.png``, ``tsne.png``, a self-contained ``report.html`` and ``geometry.json`` to ``out``, and
    returns the content of geometry.json: the ``Separation`` of question pairs and that of question-answer pairs.

    Raises InputError for vectors that are all alike, and if ``out`` contains a run, a model or an index.
    """
    out = run_folder(out)
    sizes = [len(questions) for _, questions in groups]
    owners = np.repeat(np.arange(len(sizes)), sizes)
    models: dict[str, dict[str, Any]] = {}
    matrices: dict[str, Doubles] = {}
    planes: dict[str, tuple[Doubles, Doubles]] = {}
    for name, (questions, answers) in vectors.items():
        models[name], matrix = _measure(np.asarray(questions, float), np.asarray(answers, float), owners)
        matrices[f"{name}\nseparation {models[name]['question_question']['separation']:.2f}"] = matrix
        points = tsne(np.concatenate([questions, answers]), seed)
        planes[name] = points[: len(owners)], points[len(owners) :]
        models[name]["perplexity"] = perplexity(len(points))
    summary: dict[str, Any] = {
        "answers": len(sizes),
        "questions": len(owners),
        "models": models,
        "seed": seed,
        "groups": [{"answer": answer, "questions": list(questions)} for answer, questions in groups],
        "versions": versions(),
    }
    similarity_picture, tsne_picture = similarity_figure(matrices, sizes), tsne_figure(planes, sizes)
    write_bytes(out / "similarities.png", similarity_picture)
    write_bytes(out / "tsne.png", tsne_picture)
    body = _body(summary, similarity_picture, tsne_picture)
    write_page(out / "report.html", f"{len(owners)} questions about {len(sizes)} answers", body)
    write_json(out / "geometry.json", summary)
    return summary


def _measure(questions: Doubles, answers: Doubles, owners: Rows) -> tuple[dict[str, Any], Doubles]:
    """Return an encoder's separations, and its question similarities in deviations from those of different answers."""
    similarities = questions @ questions.T
    first, second = np.triu_indices(len(owners), 1)
    question_pairs = pair_separation(similarities[first, second], owners[first] == owners[second])
    shared = owners[:, None] == np.arange(len(answers))
    answer_pairs = pair_separation((questions @ answers.T).ravel(), shared.ravel())
    measures = {"question_question": asdict(question_pairs), "question_answer": asdict(answer_pairs)}
    return measures, (similarities - question_pairs.different) / question_pairs.spread


def _body(summary: Mapping[str, Any], similarity_picture: bytes, tsne_picture: bytes) -> str:
    models = summary["models"]
    question_pairs = {name: row["question_question"] for name, row in models.items()}
    answer_pairs = {name: row["question_answer"] for name, row in models.items()}
    questions = "".join(
        f"<tr><td>{number}</td><td class=text>{escape(group['answer'])}</td>"
        f"<td class=text>{'<br>'.join(map(escape, group['questions']))}</td></tr>"
        for number, group in enumerate(summary["groups"], 1)
    )
    head = "<tr><th></th><th class=text>answer</th><th class=text>questions</th></tr>"
    return f"""<p>Separation: how much more similar two questions that share an answer are than two questions about different
answers, on average, in standard deviations of the latter (Glass's delta).</p>
<h2>Questions and questions</h2>
<figure>{_image(similarity_picture, "Matrices of the similarities of questions, one an encoder")}
<figcaption class=dim>Inner products of the questions' vectors, question by question in the order of the table below; lines
separate the answers. All matrices have one scale of colours: 0 is the mean of questions about different answers, 1 lies a
standard deviation above it.</figcaption></figure>
{_separations(question_pairs)}
<h2>Questions and answers</h2>
<figure>{_image(tsne_picture, "Questions and answers in the plane, one picture an encoder")}
<figcaption class=dim>t-SNE of the cosine distances, seed {summary["seed"]}. Who is near whom means something; how large a
group is and how far it lies from the others does not. The table has the inner products of questions and answers.
</figcaption></figure>
{_separations(answer_pairs)}
<h2>The questions</h2>
<table><thead>{head}</thead><tbody>{questions}</tbody></table>"""


def _image(png: bytes, text: str) -> str:
    return f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}" alt="{escape(text)}">'


def _separations(models: Mapping[str, Mapping[str, float]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{row['same']:.3f}</td><td>{row['different']:.3f}</td><td>{row['spread']:.3f}</td>"
        f"<td>{row['separation']:.2f}</td></tr>"
        for name, row in models.items()
    )
    columns = ("encoder", "same answer", "different answers", "their deviation", "separation")
    head = "".join(f"<th>{name}</th>" for name in columns)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def similarity_figure(panels: Mapping[str, Doubles], sizes: Sequence[int]) -> bytes:
    """Draw matrices of question-question similarities side by side, as PNG.

    ``panels`` are matrices ``[questions, questions]`` by title, in common units: all share one colour scale. ``sizes``
    are the numbers of questions per answer; lines separate the answers, whose numbers, from 1, are in the margin. The
    diagonal is blank, because a question is always similar to itself.
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
    return _png(figure)


def tsne_figure(panels: Mapping[str, tuple[Doubles, Doubles]], sizes: Sequence[int]) -> bytes:
    """Draw questions and their answers in the plane, one panel per encoder, as PNG.

    ``panels`` are coordinates of the questions ``[questions, 2]`` and of the answers ``[answers, 2]``, by title. ``sizes``
    are the numbers of questions per answer. A line connects each question with its answer; answers are numbered from 1.
    """
    columns, rows = _layout(len(panels))
    figure = new_figure(3.6 * columns, 3.8 * rows)
    from matplotlib import colormaps  # once new_figure has told matplotlib where its cache is
    from matplotlib.patheffects import withStroke

    owners = np.repeat(np.arange(len(sizes)), sizes)
    palette = colormaps["tab10" if len(sizes) <= 10 else "tab20"]
    for axes, (questions, answers) in _grid(figure, panels):
        for number in range(len(sizes)):
            colour, points_of_answer = palette(number % palette.N), questions[owners == number]
            centre = answers[number]
            for point in points_of_answer:
                axes.plot(*zip(centre, point, strict=True), color=colour, linewidth=0.8, alpha=0.4, zorder=1)
            axes.scatter(*points_of_answer.T, color=colour, s=22, linewidths=0, zorder=2)
            axes.scatter(*centre, color=colour, s=170, marker="*", edgecolor="#1c2733", linewidths=0.7, zorder=3)
            outline = [withStroke(linewidth=1.5, foreground="white")]
            name = axes.annotate(str(number + 1), centre, (5, 5), textcoords="offset points", fontsize=9, weight="bold")
            name.set(path_effects=outline, zorder=4)
        points = np.concatenate([questions, answers])
        middle, reach = (points.max(0) + points.min(0)) / 2, 0.57 * np.ptp(points, axis=0).max()
        axes.set(xlim=(middle[0] - reach, middle[0] + reach), ylim=(middle[1] - reach, middle[1] + reach))
        axes.set(xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_color("#ccd")
    figure.supxlabel("dots: questions, stars: their answers", fontsize=9)
    return _png(figure)


def tsne(vectors: Doubles, seed: int) -> Doubles:
    """Project ``vectors`` to the plane, ``[points, 2]``, by t-SNE (Van der Maaten & Hinton 2008) of cosine distances."""
    from sklearn.manifold import TSNE

    # The exact method gives the same numbers with any number of threads.
    settings = {"perplexity": perplexity(len(vectors)), "metric": "cosine", "init": "pca", "method": "exact"}
    return np.asarray(TSNE(random_state=seed, **settings).fit_transform(vectors), np.float64)


def perplexity(points: int) -> float:
    """Return the number of neighbours for ``points`` (4 or more): t-SNE's usual 30, or about a third of fewer points.

    Below 2.5 the questions of an answer collapse to one point.
    """
    return min(30.0, max(2.5, (points - 1) / 3))


def _layout(panels: int) -> tuple[int, int]:
    """Return columns and rows of panels: up to three columns, and rows of nearly equal length."""
    rows = -(-panels // 3)
    return -(-panels // rows), rows


def _grid(figure: Any, panels: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the axes of each panel, titled, and its content; rows are filled from the left."""
    columns, rows = _layout(len(panels))
    for place, (title, content) in enumerate(panels.items(), 1):
        axes = figure.add_subplot(rows, columns, place)
        axes.set_title(title, fontsize=10, parse_math=False)  # a name may contain a $
        yield axes, content


def _png(figure: Any) -> bytes:
    """Return a figure as a PNG file; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, metadata={"Software": None})
    return buffer.getvalue()
