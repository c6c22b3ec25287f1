from __future__ import annotations

import base64
import io
import itertools
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from oreqa.errors import InputError
from oreqa.files import read_json

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from support.separation import pair_separation, perplexity, similarity_figure, tsne, tsne_figure, write_geometry

Floats = NDArray[np.float64]
SIZES = (3, 2, 5)
GROUPS = [(f"answer {n} <b>", [f"question {n}.{q} & <i>?" for q in range(size)]) for n, size in enumerate(SIZES)]
OWNERS = [number for number, size in enumerate(SIZES) for _ in range(size)]


def random_vectors(seed: int, dim: int = 8, closeness: float = 1.0) -> tuple[Floats, Floats]:
    """Answers, and questions around them: the nearer, the larger ``closeness``; of many lengths."""
    generator = np.random.default_rng(seed)
    answers = generator.normal(size=(len(SIZES), dim))
    questions = closeness * answers[OWNERS] + generator.normal(size=(len(OWNERS), dim))
    return questions * generator.uniform(0.5, 2, size=(len(OWNERS), 1)), answers


def inner(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def slow_separation(same: list[float], different: list[float]) -> dict[str, float]:
    spread = statistics.pstdev(different)
    means = statistics.fmean(same), statistics.fmean(different)
    return {"same": means[0], "different": means[1], "spread": spread, "separation": (means[0] - means[1]) / spread}


def slow_measures(questions: Floats, answers: Floats) -> dict[str, dict[str, float]]:
    """Pair by pair, in loops."""
    pairs: dict[str, tuple[list[float], list[float]]] = {"question_question": ([], []), "question_answer": ([], [])}
    for a, b in itertools.combinations(range(len(OWNERS)), 2):
        pairs["question_question"][OWNERS[a] != OWNERS[b]].append(inner(questions[a].tolist(), questions[b].tolist()))
    for a in range(len(OWNERS)):
        for b in range(len(SIZES)):
            pairs["question_answer"][OWNERS[a] != b].append(inner(questions[a].tolist(), answers[b].tolist()))
    return {name: slow_separation(*similarities) for name, similarities in pairs.items()}


def test_a_separation_by_hand() -> None:
    measured = pair_separation(np.array([5.0, 1.0, 3.0, 7.0]), np.array([True, False, False, True]))
    assert (measured.same, measured.different, measured.spread, measured.separation) == (6, 2, 1, 4)
    for shared in ([True, True], [False, False]):
        with pytest.raises(InputError, match="pairs that share an answer and pairs that do not"):
            pair_separation(np.array([1.0, 2.0]), np.array(shared))


@pytest.mark.slow
def test_the_report(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    near, far = random_vectors(0, closeness=3.0), random_vectors(1, dim=5, closeness=0.3)
    vectors = {"near <u>": near, "far": far, "long": (near[0] * 7, near[1])}
    summary = write_geometry(tmp_path, GROUPS, vectors, seed=4)
    assert summary == read_json(tmp_path / "geometry.json")
    assert (summary["answers"], summary["questions"], summary["seed"]) == (3, 10, 4)
    assert summary["groups"][1] == {"answer": GROUPS[1][0], "questions": GROUPS[1][1]}
    models = summary["models"]
    assert list(models) == list(vectors)
    for name, (questions, answers) in vectors.items():
        for kind, expected in slow_measures(questions, answers).items():
            assert models[name][kind] == pytest.approx(expected, rel=1e-5)
    # The vectors' unit does not change how far the questions are apart.
    separations = {name: measures["question_question"]["separation"] for name, measures in models.items()}
    assert separations["long"] == pytest.approx(separations["near <u>"], rel=1e-9)
    assert separations["near <u>"] > separations["far"]
    assert models["far"]["perplexity"] == 4
    page = (tmp_path / "report.html").read_text()
    for name in ("similarities.png", "tsne.png"):
        picture = (tmp_path / name).read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert page.count(f'src="data:image/png;base64,{base64.b64encode(picture).decode()}"') == 1
    assert page.count("src=") == 2
    assert "question 2.4 &amp; &lt;i&gt;?" in page
    assert "answer 1 &lt;b&gt;" in page
    assert page.count("<td>near &lt;u&gt;</td>") == page.count("<td>far</td>") == 2
    assert not {"<b>", "<i>", "<u>"} & set(page.replace("<", " <").replace(">", "> ").split())
    again = write_geometry(tmp_path / "again", GROUPS, vectors, seed=4)
    assert again == summary
    for name in ("similarities.png", "tsne.png", "report.html", "geometry.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_vectors_that_are_all_alike_are_refused(tmp_path: Path) -> None:
    questions, answers = random_vectors(2)
    for alike in (np.tile(questions[:1], (10, 1)), np.zeros((10, 8))):
        with pytest.raises(InputError, match="its vectors of different answers are all equally similar"):
            write_geometry(tmp_path / "o", GROUPS, {"m": (alike, answers)})
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("groups", [2, 12])
def test_tsne_puts_questions_near_those_that_share_their_answer(groups: int) -> None:
    pytest.importorskip("sklearn")
    generator = np.random.default_rng(5)
    owners = np.repeat(np.arange(groups), 7)
    centres = 3 * generator.normal(size=(groups, 16))
    vectors = centres[owners] + 0.5 * generator.normal(size=(len(owners), 16))
    plane = tsne(vectors * generator.uniform(0.1, 10, size=(len(owners), 1)), seed=1)  # lengths do not count
    assert plane.shape == (len(owners), 2)
    distances = np.linalg.norm(plane[:, None] - plane, axis=2) + 1e9 * np.eye(len(owners))
    assert (owners[distances.argmin(1)] == owners).all()
    assert (tsne(vectors, seed=2) == tsne(vectors, seed=2)).all()


def test_perplexity() -> None:
    for points in range(4, 200):
        assert 2.5 <= perplexity(points) < points
    assert perplexity(10) == 3
    assert perplexity(500) == 30


def pixels(png: bytes) -> Floats:
    from matplotlib.image import imread

    return np.asarray(imread(io.BytesIO(png), format="png"), np.float64)[:, :, :3]


def count_pixels(picture: Floats, colour: Sequence[float]) -> int:
    return int((np.abs(picture - np.array(colour[:3])).max(2) < 0.02).sum())


def test_similar_pairs_are_yellow_and_the_diagonal_is_blank() -> None:
    from matplotlib import colormaps

    sizes = (2, 6)
    owners = np.repeat([0, 1], sizes)
    matrix = np.where(owners[:, None] == owners, 5.0, 0.0) + 1e6 * np.eye(8)
    picture = pixels(similarity_figure({"m": matrix}, sizes))
    yellow, blue = (count_pixels(picture, colormaps["viridis"](share)) for share in (1.0, 0.0))
    # 2 + 30 cells of the same answer, 24 of different ones; the bar of colours adds a little to both.
    assert yellow / blue == pytest.approx(32 / 24, rel=0.05)
    # The same units in all panels: one that is less separated is drawn paler.
    both = pixels(similarity_figure({"m": matrix, "weak": np.where(np.eye(8) > 0, 0, matrix / 5)}, sizes))
    assert count_pixels(both, colormaps["viridis"](1.0)) < 1.2 * yellow


@pytest.mark.slow
@pytest.mark.parametrize("panels", [1, 2, 4])
def test_tsne_draws_every_answer_in_its_colour(panels: int) -> None:
    from matplotlib import colormaps

    places = np.array([[0.0, 0.0], [0, 1], [1, 0], [9, 9], [9, 8], [5, 1], [5, 2], [5, 3], [4, 1], [4, 2]])
    answers = np.array([[0.5, 0.5], [8, 8], [4, 3]])
    picture = pixels(tsne_figure({f"m{n}": (places, answers) for n in range(panels)}, SIZES))
    columns, rows = {1: (1, 1), 2: (2, 1), 4: (2, 2)}[panels]
    assert picture.shape[1] / picture.shape[0] == pytest.approx(3.6 * columns / (3.8 * rows), rel=0.01)
    for number in range(4):
        count = count_pixels(picture, colormaps["tab10"](number))
        assert count > 50 * panels if number < 3 else count == 0
