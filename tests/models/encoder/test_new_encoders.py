"""Encoders over a backbone's token embeddings, and multi-hop attention: the same in OpenVINO, torch and
sentence-transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa.errors import InputError, ModelError
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import NewEncoder, read_encoder_folder

torch = pytest.importorskip("torch")

from oreqa.models.encoder.module import CELLS, QUERY_TOKEN_TYPE  # noqa: E402
from oreqa.models.reader.module import ReaderModel  # noqa: E402
from oreqa.training.backbone import start_encoder, start_headed  # noqa: E402
from oreqa.training.retriever.save import save_encoder  # noqa: E402

pytestmark = pytest.mark.train

TEXTS = ["who jumps over the dog", "fox", "", "a much longer text about a fox and the dog that it did not see"]
ENCODERS: list[NewEncoder | None] = [None, "transformer", *CELLS]  # type: ignore[list-item]


def trained(backbone: Path, out: Path, encoder: NewEncoder | None, **settings: object) -> Path:
    """A folder of a dual encoder with random weights."""
    torch.manual_seed(1)
    base = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    model = start_encoder(backbone, {**base, **settings}, 0.1, encoder)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" not in name:
                weight.normal_(0, 0.4)
    pooling = "attention" if settings.get("hops") else "mean"
    save_encoder(model.eval(), read_encoder_folder(backbone), pooling, 64, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hops": 3, "joining": "averaged"},
        {"hops": 3, "joining": "concatenated"},
        {"hops": 1, "joining": "concatenated", "projection": 8},
        {"hops": 2, "joining": "averaged", "similarity": "dot", "towers": "separate"},
    ],
    ids=["mean", "averaged", "concatenated", "projection", "two"],
)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_it_gives_the_same_in_openvino_torch_and_sentence_transformers(
    tiny: Path, tmp_path: Path, encoder: NewEncoder | None, settings: dict[str, object]
) -> None:
    from sentence_transformers import SentenceTransformer

    from oreqa.models.encoder.module import open_session

    folder = trained(tiny, tmp_path / "m", encoder, **settings)
    model = Encoder(folder, precision="f32")
    assert model.dim == settings.get("projection", 96 if settings == {"hops": 3, "joining": "concatenated"} else 32)
    questions = model.encode(TEXTS)
    np.testing.assert_allclose(np.stack([model.encode(text) for text in TEXTS]), questions, atol=1e-4)  # no padding

    read = read_encoder_folder(folder)
    sessions = [open_session(part, "f32", "cpu") for part in (read, read.questions or read)]
    on_torch = Encoder.of(read, *sessions)
    np.testing.assert_allclose(on_torch.encode(TEXTS), questions, atol=1e-4)
    text = "The fox jumps. Seven dogs sleep well. It rains."
    passages = [("title", text, [(0, 14), (15, 37), (38, 47)]), ("", "fox", [])]
    for ours, theirs in zip(model.encode_passages(passages), on_torch.encode_passages(passages), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)

    loaded = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    np.testing.assert_allclose(loaded.encode_query(TEXTS), questions, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_trained_one_is_a_backbone_again(tiny: Path, tmp_path: Path, encoder: NewEncoder | None) -> None:
    folder = trained(tiny, tmp_path / "m", encoder, hops=2, joining="averaged")
    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": 0, "projection": None}
    again = start_encoder(folder, {**settings, "hops": 2, "joining": "averaged"}, 0.0)
    save_encoder(again.eval(), read_encoder_folder(folder), "attention", 64, tmp_path / "again")
    vectors = [Encoder(path, precision="f32").encode(TEXTS) for path in (folder, tmp_path / "again")]
    np.testing.assert_array_equal(*vectors)


@pytest.mark.parametrize("encoder", ["gru", "transformer"])
def test_a_new_encoder_has_two_layers_over_the_backbones_embeddings(tiny: Path, encoder: NewEncoder) -> None:
    settings = {"kind": "encoder", "context": "none", "query_token_type": QUERY_TOKEN_TYPE, "projection": None}
    models = [start_encoder(tiny, settings, 0.0, encoder) for _ in range(2)]
    words = load_file(tiny / "model.safetensors")["embeddings.word_embeddings.weight"]
    for model in models:
        np.testing.assert_array_equal(model.passages.backbone.embeddings.word_embeddings.weight.detach(), words)
        assert model.config.num_hidden_layers == 2
        types = model.passages.backbone.embeddings.token_type_embeddings.weight
        assert torch.equal(types[QUERY_TOKEN_TYPE], types[0])
    first, second = (dict(model.named_parameters()) for model in models)
    layers = [name for name in first if ("layer.0" in name or "recurrent" in name) and first[name].ndim > 1]
    assert layers
    assert not any(torch.equal(first[name], second[name]) for name in layers)


def test_attention_begins_as_nearly_a_mean(tiny: Path) -> None:
    settings = {"kind": "encoder", "context": "none", "query_token_type": 0, "projection": None}
    torch.manual_seed(0)
    mean, attention = (
        start_encoder(tiny, {**settings, **more}, 0.0).eval() for more in ({}, {"hops": 4, "joining": "averaged"})
    )
    ids = torch.randint(4, 40, (3, 9))
    inputs = (ids, torch.ones_like(ids), torch.zeros_like(ids), torch.full((3, 1, 9), 1 / 9))
    with torch.no_grad():
        cosines = (mean(*inputs) * attention(*inputs)).sum(-1)
    assert cosines.min() > 0.999
    assert not torch.equal(mean(*inputs), attention(*inputs))


def broken(folder: Path, name: str, change: object) -> None:
    path = folder / name
    if path.suffix == ".json":
        path.write_text(json.dumps(json.loads(path.read_text()) | change))  # type: ignore[operator]
    else:
        save_file({key: value for key, value in load_file(path).items() if key != change}, path)


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        ("config.json", {"cell": "qrnn"}, "its cell 'qrnn' is not supported; supported: rnn, gru, lstm"),
        ("model.safetensors", "recurrent.weight_hh_l1_reverse", r"lack bert\.recurrent\.weight_hh_l1_reverse"),
        ("config.json", {"num_hidden_layers": 3}, r"lack bert\.recurrent\.\w+_l2"),
        ("1_AttentionPooling/config.json", {"joining": "summed"}, "the joining 'summed' is not supported"),
        ("1_AttentionPooling/config.json", {"hops": 0}, "its setting hops is 0"),
        ("1_AttentionPooling/config.json", {"hops": 5}, "do not fit 5 hops of width 32"),
        ("1_AttentionPooling/model.safetensors", "outer.weight", r"not those of attention \(inner.weight, outer.weight\)"),
    ],
)
def test_damaged_folders_are_named(gru: Path, tmp_path: Path, file: str, change: object, reason: str) -> None:
    folder = tmp_path / "m"
    shutil.copytree(gru, folder)
    broken(folder, file, change)
    with pytest.raises(ModelError, match=reason):
        Encoder(folder, precision="f32")


@pytest.fixture(scope="module")
def gru(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tiny, tmp_path_factory.mktemp("gru") / "m", "gru", hops=2, joining="averaged")


def test_no_reader_begins_from_recurrent_layers(gru: Path) -> None:
    with pytest.raises(InputError, match=r"its layers are recurrent \(gru\); name a transformer to begin with"):
        start_headed(ReaderModel, gru, dropout=None)


def test_an_odd_width_is_refused_before_it_is_trained(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "m")
    broken(tmp_path / "m", "config.json", {"hidden_size": 33})
    settings = {"kind": "encoder", "context": "none", "query_token_type": 0, "projection": None}
    with pytest.raises(ModelError, match="recurrent layers need an even hidden_size, not 33"):
        start_encoder(tmp_path / "m", settings, 0.0, "lstm")


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        ("model.safetensors", "recurrent.weight_hh_l1_reverse", r"lack recurrent\.weight_hh_l1_reverse"),
        ("1_AttentionPooling/model.safetensors", "inner.weight", r"not those of attention \(inner.weight, outer.weight\)"),
    ],
)
def test_torch_names_what_a_damaged_folder_lacks(gru: Path, tmp_path: Path, file: str, change: str, reason: str) -> None:
    from oreqa.models.encoder.module import open_session

    folder = tmp_path / "m"
    shutil.copytree(gru, folder)
    broken(folder, file, change)
    settings = {"kind": "encoder", "context": "none", "query_token_type": 0, "projection": None, "hops": 2}
    for load in (
        lambda: open_session(read_encoder_folder(folder), "f32", "cpu"),
        lambda: start_encoder(folder, {**settings, "joining": "averaged"}, 0.0),
    ):
        with pytest.raises(ModelError, match=reason):
            load()


def test_a_model_with_another_head_is_no_encoder(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    (folder / "modules.json").unlink(missing_ok=True)
    config = json.loads((folder / "config.json").read_text())
    for name, reason in (
        ("BertForQuestionAnswering", r"it is a reader \(BertForQuestionAnswering\), not an encoder; --reader takes it"),
        (
            "BertForSequenceClassification",
            r"it is a classifier \(.*\), not an encoder; --classifier or --reranker takes it",
        ),
    ):
        (folder / "config.json").write_text(json.dumps({**config, "architectures": [name]}))
        with pytest.raises(ModelError, match=reason):
            Encoder(folder)
    shutil.copy(tiny / "modules.json", folder)
    assert Encoder(folder).dim == Encoder(tiny).dim
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "CrossEncoder"}))
    with pytest.raises(ModelError, match=reason):
        Encoder(folder)


def test_pickled_weights_are_named(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"its weights are pickled \(pytorch_model.bin\), which oreqa does not load"):
        Encoder(folder)


def test_a_document_is_encoded_as_a_passage_of_an_index(tiny: Path) -> None:
    encoder, texts = Encoder(tiny, precision="f32"), ["the fox jumps", "a dog and a bee"]
    rows = encoder.encode_passages([("", text, []) for text in texts])
    np.testing.assert_array_equal(encoder.encode_document(texts), [row[0] for row in rows])
    np.testing.assert_allclose(encoder.encode_document(texts[1]), rows[1][0], atol=1e-6)
    assert encoder.encode_document([]).shape == (0, encoder.dim)
    with pytest.raises(InputError, match="texts are a string or a list of strings, not None"):
        encoder.encode_document(None)  # type: ignore[arg-type]
