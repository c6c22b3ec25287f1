from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import make_model

from oreqa.errors import ModelError
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.settings import encoder_prefix
from oreqa.models.weights import load_weights, mix_weights

ARCHITECTURES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet", "electra", "modernbert")


def test_shares_of_both_weights(tmp_path: Path, fitted: Path) -> None:
    trained = shutil.copytree(fitted, tmp_path / "trained")
    before = load_file(fitted / "model.safetensors")
    save_file({name: value + 1 for name, value in before.items()}, trained / "model.safetensors")
    for share in (0.0, 0.25, 1.0):
        out = tmp_path / str(share)
        mix_weights(trained, fitted, share, out)
        for name, value in load_file(out / "model.safetensors").items():
            np.testing.assert_allclose(value, before[name] + share, rtol=1e-6, atol=1e-6)
        assert not (out / "fitted.json").exists()
        assert Encoder(out, precision="f32").encode("text").shape == Encoder(fitted).encode("text").shape
    same = Encoder(tmp_path / "0.0", precision="f32").encode("a text")
    np.testing.assert_allclose(same, Encoder(fitted, precision="f32").encode("a text"), atol=1e-6)


def test_a_difference_is_a_model_to_begin_with(tmp_path: Path, tiny_reader: Path, tiny: Path) -> None:
    from oreqa.models.pack.packing import pack_model

    pack_model(tiny_reader, "reader", str(tiny), tmp_path / "packed", "CC0")
    mix_weights(tiny_reader, tmp_path / "packed", 0.5, tmp_path / "out")
    whole, packed, mixed = (load_weights(path) for path in (tiny_reader, tmp_path / "packed", tmp_path / "out"))
    for name in mixed:
        np.testing.assert_allclose(mixed[name], (whole[name] + packed[name]) / 2, atol=1e-6)


def test_models_of_other_shapes_are_refused(tmp_path: Path, tiny: Path) -> None:
    headed = make_model(tmp_path / "headed", dense=True)
    with pytest.raises(ModelError, match=r"it has new layers \(\w+\)"):
        mix_weights(headed, tiny, 0.5, tmp_path / "out")
    other = shutil.copytree(tiny, tmp_path / "other")
    weights = load_file(tiny / "model.safetensors")
    save_file({**weights, "more.weight": np.ones((2, 2), np.float32)}, other / "model.safetensors")
    with pytest.raises(ModelError, match=r"its more.weight does not stand in"):
        mix_weights(other, tiny, 0.5, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.train
@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_a_bare_encoder_has_the_names_that_it_has_under_a_head(tmp_path: Path, model_type: str) -> None:
    from architectures import make_transformer

    bare = make_transformer(tmp_path / "bare", model_type)
    headed = make_transformer(tmp_path / "headed", model_type, "QuestionAnswering")
    prefix = encoder_prefix(bare.config.to_dict())
    whole, names = (
        {name for name in load_weights(tmp_path / folder) if name.startswith(prefix)} for folder in ("bare", "headed")
    )
    assert len(whole) == sum(not name.startswith("pooler.") for name in bare.state_dict())
    assert whole == names == {name for name in headed.state_dict() if name.startswith(prefix)}


@pytest.mark.train
def test_shards_are_read_as_one_file_is(tmp_path: Path, tiny: Path) -> None:
    from transformers import AutoModel

    sharded = shutil.copytree(tiny, tmp_path / "sharded")
    (sharded / "model.safetensors").unlink()
    AutoModel.from_pretrained(tiny).save_pretrained(sharded, max_shard_size="20KB")
    shards = sorted(sharded.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert not (sharded / "model.safetensors").exists()
    whole, joined = load_weights(tiny), load_weights(sharded)
    for name in whole.keys() & joined.keys():
        np.testing.assert_array_equal(joined[name], whole[name])
    assert {name for name in whole if "pooler" not in name} <= joined.keys()
    vectors = [Encoder(path, precision="f32").encode("a text") for path in (sharded, tiny)]
    np.testing.assert_allclose(*vectors, atol=1e-6)
    mix_weights(sharded, sharded, 0.5, tmp_path / "mixed")
    assert not list((tmp_path / "mixed").glob("model-*")) + list((tmp_path / "mixed").glob("*.index.json"))
    np.testing.assert_allclose(Encoder(tmp_path / "mixed", precision="f32").encode("a text"), vectors[0], atol=1e-6)
    last = shards[-1].read_bytes()
    shards[-1].unlink()
    with pytest.raises(ModelError, match=f"{shards[-1].name}: the file is missing"):
        load_weights(sharded)
    shards[-1].write_bytes(shards[0].read_bytes())
    with pytest.raises(ModelError, match=r"its files lack .*, which model.safetensors.index.json names"):
        load_weights(sharded)
    shards[-1].write_bytes(last)
    for damaged, reason in (
        ('{"weight_map": {"a": "../b"}}', r"it names '../b', which is no file of its folder"),
        ('{"weight_map": 1}', "its settings are damaged"),
    ):
        (sharded / "model.safetensors.index.json").write_text(damaged)
        with pytest.raises(ModelError, match=reason):
            load_weights(sharded)


def test_old_names_of_layer_normalisations(tmp_path: Path, tiny: Path) -> None:
    old = shutil.copytree(tiny, tmp_path / "old")
    weights = load_file(tiny / "model.safetensors")
    names = {name: name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta") for name in weights}
    save_file({names[name]: value for name, value in weights.items()}, old / "model.safetensors")
    assert load_weights(old).keys() == load_weights(tiny).keys()


@pytest.mark.train
def test_bfloat16_is_read_exactly(tmp_path: Path, tiny: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_tensors

    folder = shutil.copytree(tiny, tmp_path / "m")
    weights = {name: torch.from_numpy(value) for name, value in load_file(tiny / "model.safetensors").items()}
    half = {name: value.bfloat16() if value.ndim == 2 else value for name, value in weights.items()}
    save_tensors(half | {"embeddings.position_ids": torch.arange(4)}, folder / "model.safetensors")
    loaded = load_weights(folder)
    for name, value in half.items():
        np.testing.assert_array_equal(loaded[f"bert.{name}"], value.float().numpy())
    assert Encoder(folder).encode("text").shape == (32,)
