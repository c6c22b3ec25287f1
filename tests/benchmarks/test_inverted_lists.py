"""Inverted lists that probe every cell are exact, and the shares are those of an obvious count."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from scripts import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("speed/inverted_lists")


def test_shares_by_hand(script: ModuleType) -> None:
    exact, given = np.array([[1, 2], [3, 4], [5, 6]]), np.array([[2, 1], [3, 9], [7, -1]])
    assert script.shares(exact, given, [[1], [4], [7]]) == {"of the nearest": 50, "hit rate": pytest.approx(200 / 3)}


def test_all_cells_give_the_nearest_and_fewer_cost_less(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "PROBES", (1, 10))
    monkeypatch.setattr(script, "CELLS", 10)
    monkeypatch.setattr(script, "ROUNDS", 1)
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(600, 8)).astype(np.float32)
    questions = vectors[:40] + draw.normal(size=(40, 8)).astype(np.float32) / 2
    result = script.compare(vectors, questions, [[number] for number in range(40)])
    nearest = np.argsort(-(questions @ vectors.T), axis=1)[:, :5]
    hits = 100 * np.mean([number in row for number, row in enumerate(nearest)])
    rows = result["rows"]
    assert rows["exact"]["hit rate"] == pytest.approx(hits, abs=0.01)
    assert rows["10 of 10 cells"]["of the nearest"] == [100, 0]
    assert rows["10 of 10 cells"]["hit rate"] == pytest.approx([hits, 0], abs=0.01)
    assert rows["1 of 10 cells"]["of the nearest"][0] < 90
    assert (result["sentences"], result["questions"]) == (600, 40)
