from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from oreqa.defaults import BASE_ENCODER, DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER
from oreqa.errors import ModelError
from oreqa.index.scores import SCORES
from oreqa.models.cross_encoder.inputs import read_cross_encoder_folder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.fitted import (
    Calibration,
    Fitted,
    ReplacedEncoder,
    encoder_fitted,
    fitted_file,
    read_fitted,
    write_fitted,
)
from oreqa.models.names import find_model, model_fingerprint
from oreqa.models.reader.inputs import read_reader_folder

SUM = Calibration({"sentence_cosine": 1.0, "margin": 2.0}, -0.5, 0.4)


def test_probability_is_logistic() -> None:
    assert SUM.probability({"sentence_cosine": 0.3, "margin": 0.6}) == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert SUM.probability({"sentence_cosine": -1e6, "margin": 0}) == 0


def test_a_calibration_of_other_features() -> None:
    moved = SUM.rescaled({"sentence_cosine": 0.5}, {"sentence_cosine": 0.2})
    before = SUM.probability({"sentence_cosine": 0.5 * 0.7 + 0.2, "margin": 0.1})
    assert moved.probability({"sentence_cosine": 0.7, "margin": 0.1}) == pytest.approx(before)
    assert moved.threshold == SUM.threshold
    assert SUM.rescaled({}, {}) == SUM


def test_an_encoder_that_replaced_one_that_had_replaced_another() -> None:
    first = ReplacedEncoder("a", {"sentence_cosine": 2, "passage_cosine": 1}, {"sentence_cosine": 0.1, "passage_cosine": 0})
    second = ReplacedEncoder("b", {"sentence_cosine": 3, "passage_cosine": 4}, {"sentence_cosine": 0.5, "passage_cosine": 1})
    both = second.replacing(first)
    assert both.encoder == "a"
    assert both.scales == {"sentence_cosine": 6, "passage_cosine": 4}
    assert both.offsets == pytest.approx({"sentence_cosine": 2 * 0.5 + 0.1, "passage_cosine": 1})
    assert second.replacing(None) == second


def test_a_model_without_the_file_has_nothing_fitted(tiny_reader: Path, tiny_classifier: Path) -> None:
    assert read_reader_folder(tiny_reader).fitted == Fitted()
    assert read_cross_encoder_folder(tiny_classifier).fitted == Fitted()
    assert encoder_fitted("gone", "0") == Fitted()


def test_a_calibration_holds_for_the_vectors_that_it_was_fitted_with(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    calibration = {"weights": {"margin": 0.5}, "bias": -1.0, "threshold": 0.25}
    fusion = {"sentence": {"sentence_cosine": 1.0}, "passage": {"passage_cosine": 1.0}}
    write_fitted(model / "fitted.json", encoder=model_fingerprint(model), fusion=fusion, calibration=calibration)
    whole, cut = (encoder_fitted(str(model), Encoder(model, truncate_dim=dim).fingerprint) for dim in (None, 8))
    assert (whole.calibration, cut.calibration) == (Calibration({"margin": 0.5}, -1.0, 0.25), None)
    assert cut.fusion == whole.fusion == fusion


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fitted.json"
    calibration = {"weights": {"span": 0.5}, "bias": -1.0, "threshold": 0.25}
    write_fitted(path, combination={"rerank_spans": 3, "aggregate": False}, rerank_weight=0.1)
    write_fitted(path, calibration=calibration, rerank_weight=0.2)
    fitted = read_fitted(tmp_path)
    assert fitted.combination == {"rerank_spans": 3, "aggregate": False}
    assert (fitted.calibration, fitted.rerank_weight) == (Calibration({"span": 0.5}, -1.0, 0.25), 0.2)
    write_fitted(path, fusion={"sentence": {"a": 1}, "passage": {"b": 2.5}}, encoder="f00")
    assert read_fitted(tmp_path).fusion == {"sentence": {"a": 1}, "passage": {"b": 2.5}}
    assert read_fitted(tmp_path).encoder == "f00"
    numbers = {"sentence_cosine": 1.5, "passage_cosine": -2}
    write_fitted(path, replaced={"encoder": "e", "scales": numbers, "offsets": numbers})
    assert read_fitted(tmp_path).replaced == ReplacedEncoder("e", numbers, numbers)


@pytest.mark.parametrize(
    "settings",
    [
        [],
        {"fusion": {"sentence": {"a": 1}}},
        {"fusion": {"sentence": {"a": "1"}, "passage": {}}},
        {"calibration": {"weights": {}, "bias": 0}},
        {"calibration": {"weights": {"a": None}, "bias": 0, "threshold": 0}},
        {"combination": 3},
        {"combination": {"luck": 1.0}},
        {"combination": {"rerank_spans": 5.0}},
        {"combination": {"rerank_spans": -1}},
        {"combination": {"rerank_spans": 0}},
        {"combination": {"rerank_spans": True}},
        {"rerank_weight": "0.3"},
        {"replaced": {"encoder": "e", "scales": {"sentence_cosine": 1}, "offsets": {}}},
    ],
)
def test_damaged_files_are_named(tmp_path: Path, settings: object) -> None:
    (tmp_path / "fitted.json").write_text(json.dumps(settings))
    with pytest.raises(ModelError, match=r"fitted\.json: it is damaged"):
        read_fitted(tmp_path)


def test_the_shipped_models_were_fitted_together() -> None:
    fingerprint, base = (model_fingerprint(find_model(name)) for name in (DEFAULT_ENCODER, BASE_ENCODER))
    encoder, earlier = encoder_fitted(DEFAULT_ENCODER, fingerprint), encoder_fitted(BASE_ENCODER, base)
    assert earlier != Fitted()
    assert (encoder.replaced, earlier.encoder) == (None, base)
    assert earlier.replaced
    assert earlier.replaced.encoder == fingerprint
    reader = read_reader_folder(find_model(DEFAULT_READER)).fitted
    classifier = read_cross_encoder_folder(find_model(DEFAULT_CLASSIFIER)).fitted
    assert {fitted.encoder for fitted in (encoder, reader, classifier)} == {fingerprint}
    for unit in ("sentence", "passage"):
        assert encoder.fusion[unit].keys() <= SCORES.keys()
    assert all(fitted.calibration is not None for fitted in (encoder, reader, classifier))
    assert reader.combination.keys() == {"selection", "retrieval", "aggregate"}
    assert classifier.combination.keys() == {"reranking", "rerank_spans"}
    assert classifier.rerank_weight == 0.03


def test_where_benchmarks_write_what_they_fit(tiny_reader: Path) -> None:
    assert fitted_file(tiny_reader) == tiny_reader / "fitted.json"
    assert fitted_file(DEFAULT_READER) == find_model(DEFAULT_READER) / "fitted.json"
    assert read_fitted(fitted_file(BASE_ENCODER).parent).encoder == model_fingerprint(find_model(BASE_ENCODER))
