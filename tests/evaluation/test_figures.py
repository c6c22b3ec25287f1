from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from oreqa.errors import InputError
from oreqa.evaluation.compare import Comparison, compare_runs, write_comparison
from oreqa.evaluation.figures import venn_circles, venn_figure
from oreqa.evaluation.runs import Run
from oreqa.evaluation.significance import Difference
from oreqa.files import read_json

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


def test_runs_that_score_by_degrees_have_no_errors(tmp_path: Path) -> None:
    summary = {"data_sha256": "x", "rouge_l": 50.0}
    scores = {"a": (0.4, 0.5, 0.9), "b": (0.6, 0.5, 0.4)}
    a, b = (Run(n, summary, {str(i): {"id": str(i), "rouge_l": s} for i, s in enumerate(scores[n])}) for n in ("a", "b"))
    comparison = compare_runs(a, b)
    assert comparison.differences["rouge_l"].mean == pytest.approx(-0.1)
    assert comparison.errors == comparison.error_shares == {}
    assert [(row["id"], row["a"], row["b"]) for row in comparison.won] == [("0", 0.4, 0.6)]
    assert [row["id"] for row in comparison.lost] == ["2"]
    write_comparison(tmp_path / "out", [comparison])
    assert "<svg" not in (tmp_path / "out" / "report.html").read_text()


def test_questions_that_turn_are_shown_before_those_that_gain_more() -> None:
    summary = {"data_sha256": "x", "em": 50.0, "f1": 50.0}
    rows = {str(n): ((0.0, 0.0), (0.0, 0.9)) if n < 12 else ((0.0, 0.5), (1.0, 1.0)) for n in range(24)}
    a, b = (
        Run(name, summary, {key: {"id": key, "em": row[side][0], "f1": row[side][1]} for key, row in rows.items()})
        for side, name in enumerate("ab")
    )
    comparison = compare_runs(a, b)
    assert comparison.errors["only_a"] == 12
    assert len(comparison.won) == 10
    assert all(int(row["id"]) >= 12 for row in comparison.won)


def test_a_comparison_as_files(tmp_path: Path) -> None:
    row = {"id": "7", "question": "a < b & $x$?", "a": 0.0, "b": 1.0}
    comparison = Comparison(
        "runs/<a>", "runs/$b$", 10, {"em": (40.0, 50.0)}, {"em": Difference(0.1, -0.1, 0.3, 0.25)},
        {"both": 4, "only_a": 2, "only_b": 1, "neither": 3}, {"both": 40, "only_a": 20, "only_b": 10, "neither": 30}, "f1", (row,), (),
    )  # fmt: skip
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.json").write_text("{}")
    with pytest.raises(InputError, match="run: it holds a finished run already; choose another folder"):
        write_comparison(tmp_path / "run", [comparison])
    write_comparison(tmp_path / "out", [comparison, comparison])
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "<!-- 40.0% -->" in page
    assert "<td>2</td><td>20.0%</td>" in page
    assert "a &lt; b &amp; $x$?" in page
    assert "runs/<a>" not in page
    assert "<td>40.00</td><td>50.00</td><td>+10.00</td>" in page
    assert page.count("Each run's f1 of the question") == 4
    assert page.count("Fewer than 50 questions") == 2
    (first, second) = read_json(tmp_path / "out" / "comparison.json")
    assert first == second
    assert first["error_shares"]["only_b"] == 10
    assert first["won"] == [row]
