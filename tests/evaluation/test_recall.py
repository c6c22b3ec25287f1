from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.core import Unit
from oreqa.errors import InputError
from oreqa.evaluation import evaluate_recall
from oreqa.evaluation.recall import index_recall, sample_sentences
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings


@pytest.fixture
def index(library: Path, tiny: Path, tmp_path: Path) -> Index:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    return Index.open(tmp_path / "kb")


def test_a_sample_is_spread_evenly(index: Index) -> None:
    every = [sentence.text for passage in index.passages() for sentence in passage.sentences]
    assert len(every) == 8
    assert sample_sentences(index, 3) == [every[0], every[3], every[7]]
    assert sample_sentences(index, 99) == every


def test_recall_is_the_share_that_was_found(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearest(self: Index, vectors: object, k: int, unit: Unit, exact: bool = False) -> np.ndarray:
        if unit == "passage":
            return np.array([[1, 2], [3, 4]]) if exact else np.array([[2, 5], [4, 3]])
        return np.array([[1], [2]]) if exact else np.array([[-1], [2]])

    monkeypatch.setattr(Index, "nearest", nearest)
    assert index_recall(index, ["a", "b"], 2) == {"passage": 0.75, "sentence": 0.5}
    assert evaluate_recall(index.folder, questions=["a", "b"], k=2)["recall"] == {"passage": 75.0, "sentence": 50.0}


def test_the_command_prints_what_the_function_returns(index: Index) -> None:
    result = CliRunner().invoke(app, ["eval", "recall", "--index", str(index.folder), "-k", "3", "--json"])
    measured = evaluate_recall(index.folder, k=3)
    assert json.loads(result.stdout) == measured
    assert measured == {"factory": "Flat", "k": 3, "questions": 8, "recall": {"passage": 100.0, "sentence": 100.0}}
    question = "How many hearts does an octopus have?"
    assert evaluate_recall(index.folder, questions=question) == evaluate_recall(index.folder, questions=[question])
    with pytest.raises(InputError, match="nothing to search with"):
        evaluate_recall(index.folder, questions=[])
