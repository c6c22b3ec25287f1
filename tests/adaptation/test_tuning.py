"""Cosines of an adapted encoder, as those of the encoder before."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa.adaptation.tuning import compare_cosines, keep_calibration
from oreqa.answering.answerer import PASSAGES_TOP_K, Answerer
from oreqa.core import Document
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.models.fitted import COSINES, read_fitted
from oreqa.models.names import model_fingerprint

DOCUMENTS = [Document(f"d{n}", f"Title {n}", f"{word} are here. {word} sleep there.") for n, word in enumerate("abcdefgh")]
QUESTIONS = ["Where do a sleep?", "What are h?", "c?"]


@pytest.fixture
def adapted(fitted: Path, tmp_path: Path) -> Path:
    """An encoder with other weights, and the same weights of its scores."""
    folder = shutil.copytree(fitted, tmp_path / "adapted")
    weights = load_file(folder / "model.safetensors")
    rng = np.random.default_rng(0)
    moved = {name: (v + rng.normal(0, 0.05, v.shape)).astype(v.dtype) if v.ndim == 2 else v for name, v in weights.items()}
    save_file(moved, folder / "model.safetensors")
    return folder


def cosines(index: Index) -> list[list[float]]:
    hits = [hit for question in QUESTIONS for hit in index.search(question, PASSAGES_TOP_K, mode="hybrid", unit="passage")]
    return [[hit.scores[name] for hit in hits] for name in COSINES]


def test_cosines_are_matched_by_mean_and_deviation(fitted: Path, adapted: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "a", DOCUMENTS, model=fitted)
    index_documents(tmp_path / "b", DOCUMENTS, model=adapted)
    with Index.open(tmp_path / "a") as before, Index.open(tmp_path / "b") as after:
        replaced = compare_cosines(before, after, QUESTIONS)
        assert replaced.encoder == before.fingerprint != after.fingerprint
        for name, first, second in zip(COSINES, cosines(before), cosines(after), strict=True):
            alike = replaced.scales[name] * np.array(second) + replaced.offsets[name]
            assert alike.mean() == pytest.approx(np.mean(first), abs=1e-5)
            assert alike.std() == pytest.approx(np.std(first), abs=1e-5)
            assert not np.allclose(second, first)
        same = compare_cosines(before, before, QUESTIONS)
        assert all(same.scales[name] == pytest.approx(1) for name in COSINES)


def test_answers_of_an_adapted_encoder_are_calibrated(
    fitted: Path, adapted: Path, fitted_reader: Path, tmp_path: Path
) -> None:
    index_documents(tmp_path / "b", DOCUMENTS, model=adapted)
    with Answerer.load(tmp_path / "b", reader=fitted_reader) as answerer:
        assert answerer.calibration is None  # another encoder
    index_documents(tmp_path / "a", DOCUMENTS, model=fitted)
    with Index.open(tmp_path / "a") as before, Index.open(tmp_path / "b") as after:
        replaced = compare_cosines(before, after, QUESTIONS)
        keep_calibration(adapted, before, after, QUESTIONS)
    assert read_fitted(adapted).encoder == model_fingerprint(adapted)
    with Answerer.load(tmp_path / "b", reader=fitted_reader) as answerer:
        calibration = read_fitted(fitted_reader).calibration
        assert calibration is not None
        assert answerer.calibration is not None
        assert asdict(answerer.calibration) == asdict(calibration.rescaled(replaced.scales, replaced.offsets))
        (answer,) = answerer.ask("Where do a sleep?", k=1, threshold=0)
        assert answer.certainty != "not calibrated"
