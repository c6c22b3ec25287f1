"""How encoders place questions that share an answer: a report of pictures and a number (Wang et al. 2021, 4.5 and 4.6)."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oreqa.arguments import count, kind_of, text_list
from oreqa.errors import InputError
from oreqa.evaluation.geometry_figures import perplexity, similarity_figure, tsne, tsne_figure
from oreqa.evaluation.report import write_page
from oreqa.evaluation.write import run_folder
from oreqa.files import write_bytes, write_json
from oreqa.provenance import versions

Floats = NDArray[np.float64]
AnswerGroup = tuple[str, Sequence[str]]
"""An answer and the questions that share it."""


@dataclass(frozen=True, slots=True)
class Separation:
    """How far pairs that share an answer stand out by their inner products.

    ``same`` and ``different`` are the mean inner products of pairs that share an answer and of those that do not, ``spread``
    is the standard deviation of the latter. ``separation`` is (same − different) / spread, Glass's delta: it depends neither
    on the vectors' scale nor on how similar an encoder finds all texts, so that encoders can be compared by it.
    """

    same: float
    different: float
    spread: float
    separation: float


def pair_separation(similarities: Floats, shared: NDArray[np.bool_]) -> Separation:
    """The separation of pairs, from their inner products ``[pairs]`` and whether each pair shares an answer ``[pairs]``.

    Raises InputError if there are no pairs of one kind, or if the pairs of different answers are all equally similar.
    """
    if shared.all() or not shared.any():
        raise InputError("a separation takes pairs that share an answer and pairs that do not")
    others = similarities[~shared]
    same, different, spread = float(similarities[shared].mean()), float(others.mean()), float(others.std())
    if spread <= 1e-9 * max(1e-30, float(np.abs(others).max())):
        raise InputError("its vectors of different answers are all equally similar")
    return Separation(same, different, spread, (same - different) / spread)


def write_geometry(
    out: str | Path,
    groups: Iterable[AnswerGroup],
    vectors: Mapping[str, ArrayLike],
    answers: Mapping[str, ArrayLike] | None = None,
    *,
    seed: int = 0,
) -> dict[str, Any]:
    """Show how encoders place questions that share an answer.

    ``groups`` are two answers or more, each with its questions, two or more. ``vectors`` has the questions' vectors by the
    encoder's name, ``[questions, dim]``, in the order of the groups; ``answers`` those of the answers, ``[answers, dim]``,
    for all encoders or some. Each encoder has its own dim, and its vectors may have any length: similarity is their inner
    product, as in search. t-SNE, started with ``seed``, takes the cosine distance.

    Writes ``similarities.png``, ``tsne.png``, ``report.html``, which needs no other file, and ``geometry.json`` to ``out``,
    and returns what geometry.json holds: the ``Separation`` of question pairs and, where an encoder has vectors of answers,
    that of pairs of a question and an answer.

    Raises InputError for groups or vectors of another form, for vectors that are all alike, for an ``out`` that holds a run,
    a model or an index, and if scikit-learn, which the train extra brings, is not installed.
    """
    out, seed = run_folder(out), count(seed, "seed", 0)
    groups = _checked(groups)
    sizes = [len(questions) for _, questions in groups]
    owners = np.repeat(np.arange(len(sizes)), sizes)
    answers = answers or {}
    for name, by_encoder in (("vectors", vectors), ("answers", answers)):
        if not isinstance(by_encoder, Mapping):
            raise InputError(f"{name} are a mapping from an encoder's name to its vectors, not {kind_of(by_encoder)}")
    if unknown := sorted(set(answers) - set(vectors)):
        raise InputError(f"answers has vectors of {unknown[0]!r}, of which there are none of the questions")
    if not vectors:
        raise InputError("vectors is empty: name an encoder")
    models: dict[str, dict[str, Any]] = {}
    matrices: dict[str, Floats] = {}
    planes: dict[str, tuple[Floats, Floats | None]] = {}
    for name, rows in vectors.items():
        questions = _matrix(rows, len(owners), f"the vectors of {name}'s questions")
        targets = _matrix(answers[name], len(sizes), f"the vectors of {name}'s answers") if name in answers else None
        try:
            models[name], matrix = _measure(questions, targets, owners)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        matrices[f"{name}\nseparation {models[name]['question_question']['separation']:.2f}"] = matrix
        points = tsne(questions if targets is None else np.concatenate([questions, targets]), seed)
        planes[name] = points[: len(owners)], None if targets is None else points[len(owners) :]
        models[name]["perplexity"] = perplexity(len(points))
    summary: dict[str, Any] = {
        "answers": len(sizes),
        "questions": len(owners),
        "models": models,
        "seed": seed,
        "groups": [{"answer": answer, "questions": questions} for answer, questions in groups],
        "versions": versions(),
    }
    similarity_picture, tsne_picture = similarity_figure(matrices, sizes), tsne_figure(planes, sizes)
    write_bytes(out / "similarities.png", similarity_picture)
    write_bytes(out / "tsne.png", tsne_picture)
    body = _body(summary, similarity_picture, tsne_picture)
    write_page(out / "report.html", f"{len(owners)} questions about {len(sizes)} answers", body)
    write_json(out / "geometry.json", summary)
    return summary


def _checked(groups: Iterable[AnswerGroup]) -> list[tuple[str, list[str]]]:
    """The answers with their questions."""
    wrong = InputError("groups are two answers or more, each a pair of its text and a list of its questions, two or more")
    try:
        checked = [(answer, text_list(questions, "questions")) for answer, questions in groups]
    except (TypeError, ValueError, InputError):
        raise wrong from None
    if len(checked) < 2 or not all(isinstance(answer, str) and len(questions) > 1 for answer, questions in checked):
        raise wrong
    return checked


def _matrix(rows: ArrayLike, expected: int, what: str) -> Floats:
    """So many vectors in double precision, checked."""
    try:
        matrix = np.asarray(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} are no array of numbers [{expected}, dim]") from error
    if matrix.ndim != 2 or len(matrix) != expected or matrix.shape[1] < 2:
        raise InputError(f"{what} have the shape {list(matrix.shape)}, not [{expected}, dim]")
    if not np.isfinite(matrix).all():
        raise InputError(f"{what} hold numbers that are not finite")
    return matrix


def _measure(questions: Floats, answers: Floats | None, owners: NDArray[np.int_]) -> tuple[dict[str, Any], Floats]:
    """An encoder's separations, and its question-question similarities in deviations from those of different answers."""
    if answers is not None and answers.shape[1] != questions.shape[1]:
        raise InputError(f"its questions have {questions.shape[1]} dimensions, its answers {answers.shape[1]}")
    similarities = questions @ questions.T
    first, second = np.triu_indices(len(owners), 1)
    of_questions = pair_separation(similarities[first, second], owners[first] == owners[second])
    measures = {"question_question": asdict(of_questions)}
    if answers is not None:
        shared = owners[:, None] == np.arange(len(answers))
        measures["question_answer"] = asdict(pair_separation((questions @ answers.T).ravel(), shared.ravel()))
    return measures, (similarities - of_questions.different) / of_questions.spread


def _body(summary: Mapping[str, Any], similarity_picture: bytes, tsne_picture: bytes) -> str:
    models = summary["models"]
    of_questions = {name: row["question_question"] for name, row in models.items()}
    of_answers = {name: row["question_answer"] for name, row in models.items() if "question_answer" in row}
    questions = "".join(
        f"<tr><td>{number}</td><td class=text>{escape(group['answer'])}</td>"
        f"<td class=text>{'<br>'.join(map(escape, group['questions']))}</td></tr>"
        for number, group in enumerate(summary["groups"], 1)
    )
    table = "The table has the inner products of questions and answers." if of_answers else ""
    head = "<tr><th></th><th class=text>answer</th><th class=text>questions</th></tr>"
    return f"""<p>Separation: how much more similar two questions that share an answer are than two questions about different
answers, on average, in standard deviations of the latter (Glass's delta).</p>
<h2>Questions and questions</h2>
<figure>{_image(similarity_picture, "Matrices of the similarities of questions, one an encoder")}
<figcaption class=dim>Inner products of the questions' vectors, question by question in the order of the table below; lines
separate the answers. All matrices have one scale of colours: 0 is the mean of questions about different answers, 1 lies a
standard deviation above it.</figcaption></figure>
{_separations(of_questions)}
<h2>Questions and answers</h2>
<figure>{_image(tsne_picture, "Questions and answers in the plane, one picture an encoder")}
<figcaption class=dim>t-SNE of the cosine distances, seed {summary["seed"]}. Who is near whom means something; how large a
group is and how far it lies from the others does not. {table}</figcaption></figure>
{_separations(of_answers) if of_answers else ""}
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
