"""How many answers ablations.py re-ranks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts import load_script

from oreqa.fitting.rows import Row

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/ablations")


@pytest.mark.parametrize(("most", "expected"), [("2 3", 5), ("2 10", 10)])
def test_answers_that_are_shown_are_re_ranked(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: str, expected: int
) -> None:
    """Examples are of five answers, though the table may be of fewer."""
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text("{}\n")
    counts: list[int] = []

    def rerank(rows: Any, folder: Path, count: int, saved: Path) -> list[Row]:
        counts.append(count)
        return []

    def empty(*_: object) -> Any:
        return {}

    def right(rows: Sequence[Row], *_: object) -> list[float]:
        return [1.0, 0.0]

    for name in ("find_model", "model_fingerprint"):
        monkeypatch.setitem(script.kept_folder.__globals__, name, str)
    monkeypatch.setattr(script, "ask", lambda *_: script.Asked([], [], []))
    monkeypatch.setattr(script, "train", lambda *_: {"questions": 1, "steps": 1, "commit": "c"})
    monkeypatch.setattr(script, "rerank", rerank)
    monkeypatch.setattr(script, "right", right)
    monkeypatch.setattr(script, "baseline_rows", empty)
    monkeypatch.setattr(script, "data_hash", lambda _: "")
    monkeypatch.setattr(script, "examples", empty)
    monkeypatch.setattr(script, "report", empty)
    arguments = f"--data {tmp_path} --predictions {predictions} --work {tmp_path} --seeds 1 --most {most} --variant"
    monkeypatch.setattr(sys, "argv", ["ablations.py", *arguments.split(), script.BASE])
    script.main()
    assert set(counts) == {expected}


def test_first_answers_and_orders_without_a_re_ranker(script: ModuleType) -> None:
    """A right answer in sixth place counts among the first ten and 25; the orders are compared with the reader."""

    def row_of(place: int) -> Row:
        right = [float(number == place) for number in range(30)]
        spans = [[f"span {number}", number, number + 1, 0, -float(number), 0.0] for number in range(30)]
        return {"answerable": True, "right": right, "f1": right, "spans": spans, "hits": [[1.0, {}]], "kind": None}

    answered = script.Asked([], [], [row_of(0), row_of(5), row_of(40)])
    table = script.baseline_rows(answered, {"reader": [1.0, 0.0, 0.0], "other": [1.0, 1.0, 0.0]})
    assert table["reader"] == {"em": 33.33, "em@5": 33.33, "em@10": 66.67, "em@25": 66.67}
    assert table["other"]["em"] == 66.67
    assert table["other"]["over reader"]["mean"] == pytest.approx(1 / 3)
