from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.adaptation import stages
from oreqa.adaptation.stages import ENCODE, GENERATE, JUDGE, TRAIN, Stages, estimate
from oreqa.core import Document
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index


def test_a_resumed_run_adds_its_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 2.0, 10.0, 11.5])
    monkeypatch.setattr(stages, "perf_counter", lambda: next(times))
    with Stages(tmp_path / "seconds.json")("training"):
        pass
    resumed = Stages(tmp_path / "seconds.json")
    with pytest.raises(KeyboardInterrupt), resumed("training"):
        raise KeyboardInterrupt
    assert resumed.seconds == Stages(tmp_path / "seconds.json").seconds == {"training": 3.5}


def test_an_estimate_grows_with_the_questions_and_the_passages(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 6.0] * 3)
    monkeypatch.setattr(stages, "perf_counter", lambda: next(times))
    documents = [Document(f"d{n}", f"Title {n}", "Bees are here. They sleep there.") for n in range(3)]
    index_documents(tmp_path / "kb", documents, model=fitted)
    with Index.open(tmp_path / "kb") as index:
        passages = list(index.passages())
        few, many, read = (
            estimate(index.encoder, passages, questions, 0, round_trip, round_trip, 1000)
            for questions, round_trip in ((10, False), (20, False), (10, True))
        )
    assert few.seconds[ENCODE] == pytest.approx(6)  # two seconds each
    assert many.seconds[GENERATE] == 2 * few.seconds[GENERATE] == pytest.approx(2 * 10 * 2 * stages.ASKING)
    assert read.seconds[GENERATE] > few.seconds[GENERATE]
    assert read.seconds[JUDGE] > 0
    assert JUDGE not in few.seconds
    assert many.seconds[TRAIN] == 2 * few.seconds[TRAIN]
    assert few.bytes > 1000
