from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import make_model

from oreqa.errors import ModelError
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.names import difference_base, find_model, model_fingerprint, read_config
from oreqa.models.pack.packing import pack_model
from oreqa.models.stored import find_by_name


def test_names_and_paths(tiny: Path) -> None:
    assert find_model(str(tiny)) == tiny
    assert (find_model("all-minilm-l6-v2") / "model.safetensors").is_file()
    with pytest.raises(ModelError, match="no model 'nope': give a folder, or one of all-minilm-l6-v2"):
        find_model("nope")


def test_packaged_names_win_over_folders_without_a_model(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = find_model("minilm-reader")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minilm-reader").mkdir()
    assert find_model("minilm-reader") == packaged
    assert find_model("./minilm-reader") == tmp_path / "minilm-reader"
    assert find_model(tmp_path / "minilm-reader") == tmp_path / "minilm-reader"
    shutil.copy(tiny / "config.json", tmp_path / "minilm-reader")
    assert find_model("minilm-reader") == tmp_path / "minilm-reader"
    for odd in ("~nobody-of-this-name", "x" * 300, "a\0b", ""):
        with pytest.raises(ModelError, match="there is no model"):
            find_model(odd)


def test_what_a_folder_says(tmp_path: Path) -> None:
    folder = read_encoder_folder(make_model(tmp_path / "m", "cls", dense=True))
    assert (folder.pooling, folder.normalise, folder.max_tokens) == ("cls", True, 64)
    assert [layer.activation for layer in folder.dense] == ["tanh"]
    (tmp_path / "m" / "sentence_bert_config.json").write_text('{"max_seq_length": 20, "do_lower_case": true}')
    folder = read_encoder_folder(tmp_path / "m")
    assert (folder.max_tokens, folder.lower_case) == (20, True)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("tokenizer.json", None, "tokenizer.json is missing"),
        ("config.json", "{", "cannot be read as JSON"),
        ("1_Pooling/config.json", '{"pooling_mode": ["cls", "max"]}', "the pooling cls, max is not supported"),
        ("modules.json", '[{"type": "x.LSTM", "path": ""}]', "the module x.LSTM is not supported"),
        ("modules.json", "[1]", "m: its settings are damaged"),
        ("modules.json", '[{"path": ""}]', "m: its settings are damaged"),
        ("modules.json", "7", "m: its settings are damaged"),
        ("config.json", "[]", "must be a JSON object with a model's settings"),
        ("1_Pooling/config.json", "[]", "m: its settings are damaged"),
        ("sentence_bert_config.json", '{"max_seq_length": -1}', "max_seq_length is -1; it must be a whole number"),
        ("sentence_bert_config.json", "[]", "m: its settings are damaged"),
    ],
)
def test_unusable_folders(tiny: Path, tmp_path: Path, file: str, content: str | None, reason: str) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content)
    with pytest.raises(ModelError, match=reason):
        read_encoder_folder(folder)


def test_fingerprint_follows_content(tiny: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny, tmp_path / "copy")
    assert model_fingerprint(copy) == model_fingerprint(tiny)
    (copy / "README.md").write_text("no matter")
    assert model_fingerprint(copy) == model_fingerprint(tiny)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-6}))
    assert model_fingerprint(copy) != model_fingerprint(tiny)


def test_the_fingerprint_of_a_difference_follows_its_base(tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
    base, packed = shutil.copytree(tiny, tmp_path / "base"), tmp_path / "packed"
    pack_model(tiny_reader, "reader", str(base), packed, "CC0")
    before = model_fingerprint(packed)
    assert cached_fingerprint(packed) == before
    weights = load_file(base / "model.safetensors")
    save_file({name: value + 1 for name, value in weights.items()}, base / "model.safetensors")
    assert model_fingerprint(packed) != before
    assert cached_fingerprint(packed) == model_fingerprint(packed)


def test_the_default_encoder_has_the_hubs_name_too() -> None:
    assert find_model("sentence-transformers/all-MiniLM-L6-v2") == find_model("all-minilm-l6-v2")


def test_a_reader_is_no_encoder(tiny_reader: Path) -> None:
    with pytest.raises(ModelError, match="it is a reader, not an encoder; --reader takes it"):
        read_encoder_folder(tiny_reader)


def test_the_folder_of_an_interrupted_training_says_so(tmp_path: Path) -> None:
    (tmp_path / "m" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ModelError, match=r"m: its training was interrupted; finish it by the command that began it"):
        find_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("config", "setting"),
    [
        ({"architectures": [None]}, "architectures"),
        ({"architectures": "BertModel"}, "architectures"),
        ({"oreqa": {"licence": ["MIT"]}}, "oreqa.licence"),
        ({"oreqa": {"kind": ["reader"]}}, "oreqa.kind"),
    ],
)
def test_settings_of_another_type_are_refused(tmp_path: Path, config: dict[str, object], setting: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=rf"config.json: its setting {setting} is not a "):
        read_config(tmp_path)


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2", "minilm-reader"])
def test_a_packaged_model_is_looked_for_nowhere_else(name: str) -> None:
    assert find_by_name(name) is None  # training asks by this before it begins; the Hub would refuse
    assert find_model(name).parent.name == "pack"


def test_the_base_of_a_packaged_model_is_the_packaged_one(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = find_model("minilm-reader")
    base = difference_base(reader)
    shutil.copytree(tiny, tmp_path / "all-minilm-l6-v2")
    monkeypatch.chdir(tmp_path)
    assert difference_base(reader) == base == find_model("sentence-transformers/all-minilm-l6-v2")
