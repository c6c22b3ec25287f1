from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.errors import ModelError
from oreqa.files import write_json
from oreqa.models.fitted import Fitted
from oreqa.models.listing import list_models
from oreqa.models.names import find_model
from oreqa.models.pack.packing import pack_model
from oreqa.models.reader.inputs import read_reader_folder
from oreqa.models.weights import load_weights


def test_a_packed_reader_is_small_and_reads_without_its_origin(tiny_reader: Path, tiny: Path, tmp_path: Path) -> None:
    size = pack_model(tiny_reader, "reader", str(tiny), tmp_path / "p", "CC0")
    assert size < (tiny_reader / "model.safetensors").stat().st_size / 2
    folder = read_reader_folder(tmp_path / "p")
    assert folder.tokenizer == tiny / "tokenizer.json"
    packed, whole = load_weights(folder.path), load_weights(tiny_reader)
    assert all(np.allclose(packed[name], value, atol=0.02) for name, value in whole.items())
    assert json.loads((tmp_path / "p" / "config.json").read_text())["oreqa"]["licence"] == "CC0"


def test_what_was_fitted_travels_with_a_packed_model(
    fitted_reader: Path, tiny: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    pack_model(fitted_reader, "reader", str(tiny), tmp_path / "p", "CC0")
    fitted = read_reader_folder(tmp_path / "p").fitted
    assert fitted == read_reader_folder(fitted_reader).fitted
    assert fitted.calibration is not None
    pack_model([fitted_reader, tiny_reader], "reader", str(tiny), tmp_path / "mean", "CC0")
    assert read_reader_folder(tmp_path / "mean").fitted == Fitted()


def test_several_models_are_packed_as_their_mean(tiny_reader: Path, tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny_reader, tmp_path / "other")
    weights = load_file(tiny_reader / "model.safetensors")
    moved = {name: value + 0.1 if value.ndim == 1 else value for name, value in weights.items()}
    save_file(moved, other / "model.safetensors")
    hashes = {"/data/sets/a.json": "1f", "/tmp/b.json": "2e"}
    write_json(other / "run.json", {"recipe": {"data_root": "/data", "backbone": "runs/a"}, "data_sha256": hashes})
    pack_model([tiny_reader, other], "reader", str(tiny), tmp_path / "mean", "CC0")
    mean, first = load_weights(tmp_path / "mean"), load_weights(tiny_reader)
    for name, value in first.items():
        assert np.allclose(mean[name], value + 0.05 if value.ndim == 1 else value, atol=0.02 if value.ndim > 1 else 1e-6)
    assert json.loads((tmp_path / "mean" / "run.json").read_text()) == {
        "mean_of": [
            {"recipe": {"data_root": ".", "backbone": "runs/a"}, "data_sha256": {"sets/a.json": "1f", "b.json": "2e"}}
        ]
    }  # and not where they were on the machine


@pytest.mark.parametrize("packed_first", [False, True])
def test_a_packed_model_has_a_mean_with_one_that_is_whole(
    tiny_classifier: Path, tiny_reader: Path, tmp_path: Path, packed_first: bool
) -> None:
    trained = shutil.copytree(tiny_classifier, tmp_path / "trained")
    base = load_weights(tiny_reader)
    weights = {name: base[name] + 0.1 if name in base else v for name, v in load_weights(tiny_classifier).items()}
    save_file(weights, trained / "model.safetensors")
    pack_model(trained, "classifier", str(tiny_reader), tmp_path / "packed", "CC0")
    packed = load_weights(tmp_path / "packed")
    assert "qa_outputs.weight" in packed  # of the reader, which the classifier is stored as a difference from
    save_file({name: value + 0.1 for name, value in weights.items()}, trained / "model.safetensors")
    folders = [tmp_path / "packed", trained]
    pack_model(folders if packed_first else folders[::-1], "classifier", str(tiny_reader), tmp_path / "mean", "CC0")
    mean = load_weights(tmp_path / "mean")
    for name, value in weights.items():
        assert np.allclose(mean[name], value + 0.05, atol=0.01)


def test_models_are_listed_with_what_they_are_for() -> None:
    found = {model.name: model for model in list_models()}
    assert {name: found[name].kind for name in found} == {
        "all-minilm-l6-v2": "encoder", "minilm-retriever": "encoder", "minilm-reader": "reader", "minilm-classifier": "classifier",
        "minilm-generator": "generator", "mpnet-reader": "reader",
    }  # fmt: skip
    own = [model for name, model in found.items() if name != "all-minilm-l6-v2"]
    assert sum(model.bytes for model in own) <= 50e6
    for model in own:
        card = (model.path / "README.md").read_text()
        assert all(heading in card for heading in ("## Data", "## Recipe", "## Scores", "## Licence"))
        assert (model.path / "run.json").is_file()
    rows = json.loads(CliRunner().invoke(app, ["models", "--json"]).stdout)
    assert [row["name"] for row in rows] == list(found)
    assert "## Data" in json.loads(CliRunner().invoke(app, ["models", "minilm-reader", "--json"]).stdout)["card"]
    assert "minilm-reader" in CliRunner().invoke(app, ["models"]).stdout


def test_an_unknown_model() -> None:
    for name in ("gpt", "./minilm-reader"):
        with pytest.raises(
            ModelError, match=r": give a folder, or one of all-minilm-l6-v2, minilm-retriever, minilm-reader"
        ):
            find_model(name)
    with pytest.raises(ModelError, match=r": did you mean minilm-reader\? Give a folder, or one of all-minilm-l6-v2"):
        find_model("Minilm-raeder")
