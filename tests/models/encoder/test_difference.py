"""An encoder that is stored as its difference from another one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa.errors import ModelError
from oreqa.files import read_json, write_json
from oreqa.models.differences import DIFFERENCE
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.pack.packing import pack_model

TEXTS = ["How many hearts has an octopus?", "three", ""]


@pytest.fixture
def tuned(tiny: Path, tmp_path: Path) -> Path:
    """The tiny encoder with other weights."""
    out = shutil.copytree(tiny, tmp_path / "tuned")
    random = np.random.default_rng(0)
    weights = {
        name: value + random.normal(0, 0.02, value.shape) for name, value in load_file(tiny / "model.safetensors").items()
    }
    save_file({name: value.astype(np.float32) for name, value in weights.items()}, out / "model.safetensors")
    return out


@pytest.fixture
def packed(tuned: Path, tiny: Path, tmp_path: Path) -> Path:
    pack_model(tuned, "encoder", str(tiny), tmp_path / "packed", "Apache-2.0")
    return tmp_path / "packed"


def test_it_gives_nearly_the_same_vectors(packed: Path, tuned: Path, tiny: Path) -> None:
    before, after, whole = (Encoder(path, precision="f32").encode(TEXTS) for path in (tiny, packed, tuned))
    assert np.abs(after - whole).max() < 0.2 * np.abs(whole - before).max()
    folder = read_encoder_folder(packed)
    assert (folder.tokenizer, folder.width) == (tiny / "tokenizer.json", read_encoder_folder(tiny).width)
    assert (folder.max_tokens, folder.context) == (read_encoder_folder(tiny).max_tokens, read_encoder_folder(tiny).context)
    assert Encoder(packed).fingerprint not in {Encoder(tiny).fingerprint, Encoder(tuned).fingerprint}


@pytest.mark.parametrize(
    ("file", "change", "setting"),
    [
        ("config.json", {"oreqa": {"query_token_type": 1}}, "query_token_type"),
        ("sentence_bert_config.json", {"max_seq_length": 16}, "max_tokens"),
        ("1_Pooling/config.json", {"pooling_mode": "cls"}, "pooling"),
    ],
)
def test_what_a_difference_would_lose_is_refused(
    tuned: Path, tiny: Path, tmp_path: Path, file: str, change: dict[str, object], setting: str
) -> None:
    before = read_json(tuned / file) if (tuned / file).is_file() else {}
    write_json(tuned / file, {**before, **change})
    with pytest.raises(ModelError, match=f"tuned: its {setting} is not that of .*: ship it as it is, unpacked"):
        pack_model(tuned, "encoder", str(tiny), tmp_path / "packed", "Apache-2.0")
    assert not (tmp_path / "packed").exists()


@pytest.mark.train
def test_torch_gives_the_same_and_trains_it(packed: Path) -> None:
    torch = pytest.importorskip("torch")
    from oreqa.models.encoder.module import load_tokens, open_session

    folder = read_encoder_folder(packed)
    encoder = Encoder.of(folder, open_session(folder, "f32", "cpu"))
    np.testing.assert_allclose(encoder.encode(TEXTS), Encoder(packed, precision="f32").encode(TEXTS), atol=1e-5)
    assert load_tokens(folder, dtype=torch.bfloat16).dtype == torch.bfloat16


@pytest.mark.train
def test_one_that_lacks_weights_is_refused(packed: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from oreqa.models.encoder.module import load_tokens

    (packed / "config.json").write_text(
        (packed / "config.json").read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3')
    )
    folder = read_encoder_folder(packed)
    with pytest.raises(ModelError, match=r"packed: the model's weights lack encoder\.layer\.2\."):
        load_tokens(folder)
    (packed / DIFFERENCE).write_bytes(b"no")
    with pytest.raises(ModelError, match="packed"):
        Encoder(packed)
