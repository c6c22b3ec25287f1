from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from oreqa import Encoder, Reader
from oreqa.defaults import BASE_ENCODER
from oreqa.errors import ModelError
from oreqa.models import checksums
from oreqa.models.fitted import read_fitted, write_fitted
from oreqa.models.names import find_model, find_tokenizer, read_config
from oreqa.models.weights import load_weights


def test_the_packages_files_have_their_checksums() -> None:
    """After a change on purpose: ``python recipes/fit/pack.py --checksums``."""
    kept = json.loads((checksums.PACK / "checksums.json").read_bytes())
    assert kept == checksums.packaged_checksums()


@pytest.fixture
def pack(tmp_path: Path, tiny_reader: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A pack of one model, written as the package's is."""
    folder = tmp_path / "pack"
    shutil.copytree(tiny_reader, folder / "reader")
    shutil.copytree(find_model(BASE_ENCODER), folder / BASE_ENCODER)
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checksums, "PACK", folder)
    monkeypatch.setattr(checksums, "_SUMS", folder / "checksums.json")
    checksums._sums.cache_clear()
    checksums.write_checksums(checksums.packaged_checksums())
    yield folder / "reader"
    checksums._sums.cache_clear()


def flip_a_bit(file: Path, place: float = 0.9) -> None:
    content = bytearray(file.read_bytes())
    content[int(len(content) * place)] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_flipped_bit_of_a_packaged_model_is_named(pack: Path, name: str) -> None:
    Reader(pack).read("the fox", ["a fox"])
    flip_a_bit(pack / name, 0.9)
    with pytest.raises(
        ModelError, match=f"{name}: it was damaged or changed: install oreqa again, or, in a checkout: git checkout -- /"
    ):
        Reader(pack).read("the fox", ["a fox"])


def test_a_users_own_folder_loads_as_it_is(pack: Path, tmp_path: Path) -> None:
    own = shutil.copytree(pack, tmp_path / "own")
    flip_a_bit(own / "model.safetensors")
    assert Reader(own).read("the fox", ["a fox"])


def test_fitted_parameters_that_are_written_keep_their_checksum(pack: Path) -> None:
    write_fitted(pack / "fitted.json", rerank_weight=0.5)
    assert read_fitted(pack).rerank_weight == 0.5
    (pack / "fitted.json").write_text((pack / "fitted.json").read_text().replace("5", "6"))
    with pytest.raises(ModelError, match=r"fitted\.json: it was damaged or changed"):
        read_fitted(pack)


def test_the_base_encoders_files_are_checked_too(pack: Path) -> None:
    copy = pack.with_name(BASE_ENCODER)
    load_weights(copy)
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        flip_a_bit(copy / name)
    for read in (load_weights, find_tokenizer, read_config, Encoder):
        with pytest.raises(ModelError, match="it was damaged or changed: install oreqa again"):
            read(copy)
