from __future__ import annotations

from pathlib import Path

import pytest
from tiny_runs import save

from oreqa.errors import InputError
from oreqa.evaluation.compare import Comparison, compare_runs, write_comparison
from oreqa.evaluation.metrics import Difference
from oreqa.evaluation.runs import Run, load_run
from oreqa.files import read_json


def test_comparison(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0], [3.0], [2.0], [1.0]])
    save(tmp_path / "b", [[1.0], [1.0], [5.0], [2.0]])
    found = compare_runs(load_run(tmp_path / "a"), load_run(tmp_path / "b"))
    assert found.errors == {"both": 1, "only_a": 1, "only_b": 1, "neither": 1}
    assert found.error_shares == {"both": 25, "only_a": 25, "only_b": 25, "neither": 25}
    assert [row["id"] for row in found.won] == ["1"]
    assert [row["id"] for row in found.lost] == ["3"]
    assert found.differences["mrr"].mean == pytest.approx((2 / 3 - 0.3 - 0.5) / 4, abs=1e-6)


def test_the_largest_gains_and_losses_come_first(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0], [1.0], [1.0], [2.0], [5.0], [3.0]])
    save(tmp_path / "b", [[3.0], [9.0], [2.0], [1.0], [1.0], [1.0]])
    compared = compare_runs(load_run(tmp_path / "a"), load_run(tmp_path / "b"))
    assert [row["id"] for row in compared.lost] == ["1", "0", "2"]
    assert [row["id"] for row in compared.won] == ["4", "5", "3"]


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1.0]])
    save(tmp_path / "b", [[1.0]], data="other")
    with pytest.raises(InputError, match="different data"):
        compare_runs(load_run(tmp_path / "a"), load_run(tmp_path / "b"))
    with pytest.raises(InputError, match="not a finished run"):
        load_run(tmp_path)


@pytest.mark.parametrize("task", ["reqa", "generator"])
def test_runs_that_number_other_questions(task: str) -> None:
    """Question 1 of a draw is not question 1 of all; a generator's texts differ by what it reads of the same passage."""
    a, b, c = (
        Run(
            name,
            {"data_sha256": "x", "task": task, "mrr": 50.0},
            {str(n): {"question": q, "mrr": 0.5} for n, q in enumerate(texts)},
        )
        for name, texts in (("a", ["p", "q", "r"]), ("b", ["p", "r"]), ("c", ["p", "q", "r"]))
    )
    assert compare_runs(a, c).questions == 3
    if task == "reqa":
        with pytest.raises(
            InputError, match=r"^a and b asked different questions: make both with the same --held-out, --min-q"
        ):
            compare_runs(a, b)
    else:
        assert compare_runs(a, b).questions == 2


def test_runs_that_are_kept_without_texts_are_compared_by_how_they_were_drawn() -> None:
    def run(name: str, questions: int = 2, text: bool = False, **settings: bool) -> Run:
        rows = {str(n): {"mrr": 0.5, **({"question": f"q{n}"} if text else {})} for n in range(questions)}
        summary = {"data_sha256": "x", "task": "reqa", "mrr": 50.0, "questions": questions, "settings": settings}
        return Run(name, summary, rows)

    kept = run("a", held_out=True)
    assert compare_runs(kept, run("b", text=True, held_out=True)).questions == 2
    for other in (run("b", text=True), run("b", questions=3, held_out=True)):
        with pytest.raises(InputError, match="a and b asked different questions"):
            compare_runs(kept, other)


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


def test_runs_without_a_common_metric_are_not_compared(tmp_path: Path) -> None:
    save(tmp_path / "a", [[1], [2]])
    a = load_run(tmp_path / "a")
    openqa = Run("b", {**a.summary, "task": "openqa"}, {key: {"em": 1.0} for key in a.questions})
    with pytest.raises(InputError, match="a and b have no metric in common: they are runs of reqa and openqa"):
        compare_runs(a, openqa)
