from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from oreqa.adaptation import stages
from oreqa.adaptation.stages import ENCODE, GENERATE, MEASURE, TRAIN, TRAIN_CLASSIFIER, Estimate, Stages, estimate
from oreqa.core import Document
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.models.weights import load_weights


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
    monkeypatch.setattr(stages, "perf_counter", cycle([0.0, 6.0]).__next__)
    documents = [Document(f"d{n}", f"Title {n}", "Bees are here. They sleep there.") for n in range(3)]
    index_documents(tmp_path / "kb", documents, model=fitted)
    with Index.open(tmp_path / "kb") as index:
        passages = list(index.passages())

        def of(questions: int = 10, round_trip: bool = False, classifies: bool = False, size: int = 1000) -> Estimate:
            return estimate(index.encoder, passages, questions, 0, round_trip, classifies, size)

        few, many, read, classified, large = of(), of(20), of(round_trip=True), of(classifies=True), of(size=10**9)
        weights = sum(tensor.nbytes for tensor in load_weights(fitted).values())
    assert few.seconds[ENCODE] == pytest.approx(6)  # two seconds each
    assert many.seconds[GENERATE] == 2 * few.seconds[GENERATE] == pytest.approx(2 * 10 * 2 * stages.ASKING)
    assert read.seconds[GENERATE] > few.seconds[GENERATE]
    assert many.seconds[TRAIN] == 2 * few.seconds[TRAIN]
    assert TRAIN_CLASSIFIER not in few.seconds
    assert classified.seconds[TRAIN_CLASSIFIER] > 0
    assert classified.seconds[MEASURE] > few.seconds[MEASURE]
    assert few.bytes == stages.CHECKPOINTS * weights
    assert classified.bytes == few.bytes + stages.MODELS * weights
    assert large.bytes == 10**9 + stages.MODELS * weights


def test_the_disk_of_an_encoder_that_is_stored_as_a_difference_is_that_of_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_documents(tmp_path / "kb", [Document("d", "Title", "Bees are here.")])
    with Index.open(tmp_path / "kb") as index:
        needed = estimate(index.encoder, list(index.passages()), 10, 0, False, False, 0).bytes
    assert needed > stages.CHECKPOINTS * 80e6
