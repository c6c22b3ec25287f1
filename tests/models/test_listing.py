from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hub_server import Hub
from tiny_models import make_fitted

from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.prompts import Prompts
from oreqa.models.listing import describe_model, list_models
from oreqa.models.names import find_model, model_fingerprint
from oreqa.models.pack.packing import pack_model
from oreqa.models.stored import get_model


def test_models_of_the_hub_are_listed_with_what_they_were_fitted_with(
    hub: Hub, tiny: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    reader = make_fitted(tiny_reader, "minilm-reader", tiny, tmp_path / "reader")
    (reader / "README.md").write_text("---\nlanguage: en\nlicense: cc-by-4.0\n---\nlicense: none\n")
    hub.add("org/tiny-reader", reader)
    get_model("org/tiny-reader")
    hub.add("org/tiny-bert", tiny)
    folder = get_model("org/tiny-bert")
    assert {model.name: model.fitted_with for model in list_models()}["org/tiny-reader"] == model_fingerprint(tiny)
    Encoder("org/tiny-bert")
    models = {model.name: model for model in list_models()}
    assert models["org/tiny-reader"].fitted_with == "org/tiny-bert"
    assert models["org/tiny-reader"].licence == "cc-by-4.0"
    encoder = models["org/tiny-bert"]
    assert (encoder.kind, encoder.architecture, encoder.place, encoder.path) == ("encoder", "bert", "hub", folder)
    assert (encoder.licence, encoder.problem) == ("", "")
    assert encoder.bytes == sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert models["minilm-reader"].place == "pack"


def test_no_model_is_hashed_for_the_list(hub: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub.add("org/tiny-bert", tiny)
    get_model("org/tiny-bert")
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("oreqa.models.graph.cache.model_fingerprint", lambda folder: pytest.fail(f"{folder} is hashed"))
    models = {model.name: model for model in list_models()}
    assert models["org/tiny-bert"].fitted_with == ""
    assert models["minilm-reader"].fitted_with == "minilm-retriever"


def test_encoders_are_described_with_dimensions_and_prompts(tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
    model = describe_model("e5", "hub", shutil.copytree(tiny, tmp_path / "e5-small"))
    assert (model.dimensions, model.prompts) == (32, Prompts("query: ", "passage: "))
    reader = describe_model("reader", "hub", tiny_reader)
    assert (reader.dimensions, reader.prompts) == (None, None)


def test_a_model_that_cannot_be_loaded_is_listed_with_the_reason(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    repository = shutil.copytree(tiny, tmp_path / "repository")
    config = json.loads((tiny / "config.json").read_text())
    (repository / "config.json").write_text(json.dumps({**config, "position_embedding_type": "alibi"}))
    hub.add("org/odd", repository)
    folder = get_model("org/odd")
    assert "relative position embeddings are not supported" in describe_model("org/odd", "hub", folder).problem
    assert find_model("org/odd") == folder
    problems = {model.name: model.problem for model in list_models()}
    assert "relative position embeddings are not supported" in problems["org/odd"]


def test_a_base_that_is_not_here_is_named_and_not_downloaded(
    hub: Hub, tiny: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    hub.add("org/tiny-bert", tiny)
    get_model("org/tiny-bert")
    pack_model(tiny_reader, "reader", "org/tiny-bert", tmp_path / "packed", "CC0")
    assert describe_model("packed", "hub", tmp_path / "packed").problem == ""
    shutil.rmtree(tmp_path / "hub")
    hub.requests.clear()
    reader = describe_model("packed", "hub", tmp_path / "packed")
    assert (reader.kind, reader.licence, reader.bytes > 0) == ("reader", "CC0", True)
    assert reader.problem == "its base is not here: oreqa models get org/tiny-bert"
    assert hub.requests == []


@pytest.mark.parametrize("with_graph", [True, False])
def test_an_architecture_that_is_not_built_needs_a_graph_or_what_converts_it(
    hub: Hub, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_graph: bool
) -> None:
    repository = shutil.copytree(tiny, tmp_path / "repository")
    config = json.loads((tiny / "config.json").read_text())
    (repository / "config.json").write_text(json.dumps({**config, "model_type": "deberta-v2"}))
    if with_graph:
        (repository / "onnx").mkdir()
        (repository / "onnx" / "model.onnx").write_bytes(b"x")
    hub.add("org/deberta", repository)
    folder = get_model("org/deberta")
    assert [(folder / name).is_file() for name in ("onnx/model.onnx", "model.safetensors")] == [with_graph, not with_graph]
    monkeypatch.setattr("oreqa.models.listing.find_spec", lambda name: None)
    problem = describe_model("org/deberta", "hub", folder).problem
    assert problem.startswith("" if with_graph else "oreqa does not build the model type 'deberta-v2'; to convert it: pip")
    assert bool(problem) is not with_graph
