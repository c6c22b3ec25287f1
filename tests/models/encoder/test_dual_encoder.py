"""Folders of trained dual encoders: of two encoders, and those that name the former module of QuestionTransformer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa import Document, index_documents
from oreqa.errors import ModelError
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import ROUTER, read_encoder_folder
from oreqa.models.names import model_fingerprint

TEXTS = ["who jumps over the dog", "where sleeps the fox"]


@pytest.mark.train
def test_a_folder_with_input_types_loads_in_sentence_transformers(tiny: Path, tmp_path: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    from oreqa.models.encoder.module import QUERY_TOKEN_TYPE
    from oreqa.training.backbone import start_encoder
    from oreqa.training.retriever.save import save_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": QUERY_TOKEN_TYPE, "projection": None}
    model = start_encoder(tiny, settings, 0.0)
    with torch.no_grad():
        model.passages.backbone.embeddings.token_type_embeddings.weight[QUERY_TOKEN_TYPE] += torch.linspace(-1, 1, 32)
    folder = tmp_path / "m"
    save_encoder(model, read_encoder_folder(tiny), "mean", 64, folder)
    modules = json.loads((folder / "modules.json").read_text())
    assert modules[0]["type"] == "oreqa.models.encoder.module.QuestionTransformer"

    # sentence-transformers imports modules other than its own only with trust_remote_code.
    loaded = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    questions = loaded.encode_query(TEXTS)
    np.testing.assert_allclose(questions, Encoder(folder, precision="f32").encode(TEXTS), atol=2e-5)
    assert not np.allclose(questions, loaded.encode_document(TEXTS), atol=1e-2)


def two_encoders(tiny: Path, folder: Path, projection: int | None = 8) -> Path:
    """A folder of two encoders with different weights."""
    import torch

    from oreqa.training.backbone import start_encoder
    from oreqa.training.retriever.save import save_encoder

    torch.manual_seed(0)
    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": projection}
    model = start_encoder(tiny, {**settings, "towers": "separate"}, 0.0)
    with torch.no_grad():
        for weight in model.questions.backbone.parameters():
            weight.add_(0.2 * torch.randn_like(weight))
    save_encoder(model, read_encoder_folder(tiny), "mean", 64, folder)
    return folder


@pytest.fixture(scope="module")
def pair(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return two_encoders(tiny, tmp_path_factory.mktemp("pair") / "m")


@pytest.mark.train
@pytest.mark.parametrize("projection", [8, None])
def test_two_encoders_give_the_same_in_openvino_torch_and_sentence_transformers(
    tiny: Path, tmp_path: Path, projection: int | None
) -> None:
    from sentence_transformers import SentenceTransformer

    from oreqa.models.encoder.module import open_session

    folder = two_encoders(tiny, tmp_path / "m", projection)
    encoder = Encoder(folder, precision="f32")
    assert encoder.dim == (projection or 32)
    questions = encoder.encode(TEXTS)
    passages = np.stack([rows[0] for rows in encoder.encode_passages([("", text, []) for text in TEXTS])])
    assert not np.allclose(questions, passages, atol=1e-2)

    loaded = SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(questions, loaded.encode_query(TEXTS), atol=2e-5)
    np.testing.assert_allclose(passages, loaded.encode_document(TEXTS), atol=2e-5)
    np.testing.assert_allclose(passages, loaded.encode(TEXTS), atol=2e-5)  # the default route

    settings = read_encoder_folder(folder)
    assert settings.questions is not None
    sessions = [open_session(part, "f32", "cpu") for part in (settings, settings.questions)]
    on_torch = Encoder.of(settings, *sessions)
    np.testing.assert_allclose(on_torch.encode(TEXTS), questions, atol=2e-5)
    np.testing.assert_allclose(on_torch.encode_passages([("", TEXTS[0], [])])[0][0], passages[0], atol=2e-5)


@pytest.mark.train
def test_a_router_that_sentence_transformers_saves_is_read(pair: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(pair), device="cpu").save(str(tmp_path / "again"))
    ours, again = (Encoder(folder, precision="f32") for folder in (pair, tmp_path / "again"))
    np.testing.assert_allclose(ours.encode(TEXTS), again.encode(TEXTS), atol=1e-6)


@pytest.mark.train
def test_an_index_is_searched_with_the_questions_encoder(pair: Path, tmp_path: Path) -> None:
    texts = ["the fox jumps", "seven dogs sleep", "it is raining", "a bird sang", "who knows"]
    index_documents(tmp_path / "kb", [Document(text, "", text) for text in texts], settings=Settings(model=str(pair)))
    encoder = Encoder(pair)
    sentences = np.stack([rows[1] for rows in encoder.encode_passages([("", text, [(0, len(text))]) for text in texts])])
    with Index.open(tmp_path / "kb") as index:
        hits = index.search("seven", k=5, mode="dense", unit="sentence")
        rows = [texts.index(hit.passage.text) for hit in hits]
        assert index.fingerprint == encoder.fingerprint
    order = np.argsort(-sentences @ encoder.encode("seven"))
    wrong = np.argsort(-sentences @ encoder.encode_passages([("", "seven", [])])[0][0])
    assert rows == list(order)
    assert rows != list(wrong)


@pytest.mark.train
@pytest.mark.parametrize("route", ["query", "document"])
@pytest.mark.parametrize("module", ["0_Transformer", "2_Dense"])
def test_the_fingerprint_covers_both_encoders(pair: Path, tmp_path: Path, route: str, module: str) -> None:
    copy = shutil.copytree(pair, tmp_path / "copy")
    assert model_fingerprint(copy) == model_fingerprint(pair)
    weights = copy / f"{route}_{module}" / "model.safetensors"
    tensors = load_file(weights)
    name = sorted(tensors)[0]
    save_file({**tensors, name: tensors[name] + 1}, weights)
    assert model_fingerprint(copy) != model_fingerprint(pair)
    before, after = Encoder(pair, precision="f32"), Encoder(copy, precision="f32")
    assert np.allclose(before.encode(TEXTS), after.encode(TEXTS), atol=1e-4) == (route == "document")


@pytest.mark.train
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"structure": {"query": ["query_0_Transformer"], "image": []}},
            "its routes are image, query; supported: query and",
        ),
        ({"structure": {"query": ["query_0_Transformer"], "document": []}}, "its settings are damaged"),
        ({"structure": {"query": ["missing"], "document": ["missing"]}}, "its settings are damaged"),
        ({"types": []}, "its settings are damaged"),
        (
            {"structure": {"query": ["query_0_Transformer"], "document": ["document_0_Transformer", "document_2_Dense"]}},
            "vectors of questions have 32 dimensions, those of passages 8",
        ),
    ],
)
def test_other_routers_are_refused(pair: Path, tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    copy = shutil.copytree(pair, tmp_path / "copy")
    router = json.loads((copy / ROUTER).read_text())
    (copy / ROUTER).write_text(json.dumps({**router, **change}))
    with pytest.raises(ModelError, match=reason):
        read_encoder_folder(copy)


@pytest.mark.train
def test_a_router_among_other_modules_and_missing_weights_are_refused(pair: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(pair, tmp_path / "copy")
    (copy / "query_0_Transformer" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"query_0_Transformer: model.safetensors is missing"):
        read_encoder_folder(copy)
    rows = json.loads((copy / "modules.json").read_text())
    (copy / "modules.json").write_text(json.dumps(rows[1:]))
    with pytest.raises(ModelError, match=r"with router_config.json, the first module in modules.json must be Router"):
        read_encoder_folder(copy)


@pytest.mark.train
def test_two_encoders_go_on_as_two_and_keep_their_projections(tiny: Path, pair: Path, tmp_path: Path) -> None:
    from oreqa.training.backbone import start_encoder
    from oreqa.training.retriever.save import save_encoder

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": 8}
    model = start_encoder(pair, {**settings, "towers": "separate"}, 0.0)
    save_encoder(model, read_encoder_folder(pair), "mean", 64, tmp_path / "m")
    before, after = (Encoder(folder, precision="f32") for folder in (pair, tmp_path / "m"))
    np.testing.assert_allclose(before.encode(TEXTS), after.encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(*(e.encode_passages([("", TEXTS[0], [])])[0] for e in (before, after)), atol=1e-6)
    with pytest.raises(ModelError, match="an encoder of questions and one of passages; set towers=separate"):
        start_encoder(pair, settings, 0.0)
    unlike = shutil.copytree(pair, tmp_path / "unlike")
    config = json.loads((unlike / "query_0_Transformer" / "config.json").read_text())
    (unlike / "query_0_Transformer" / "config.json").write_text(json.dumps({**config, "hidden_act": "relu"}))
    with pytest.raises(ModelError, match="its two encoders differ in hidden_act"):
        start_encoder(unlike, {**settings, "towers": "separate"}, 0.0)
