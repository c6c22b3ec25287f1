from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa.errors import ModelError
from oreqa.models.weights import pack_difference, unpack_difference


def test_round_trip_is_within_half_a_step(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    base = {
        "w": rng.normal(size=(4, 50)),
        "odd": rng.normal(size=(3, 7)),
        "b": rng.normal(size=4),
        "same": rng.normal(size=(2, 2)),
    }
    base = {name: value.astype(np.float32) for name, value in base.items()}
    moved = {name: base[name] + rng.normal(0, 0.01, base[name].shape).astype(np.float32) for name in ("w", "odd")}
    tuned = {**moved, "b": base["b"] + 1, "same": base["same"],
             "head": np.ones((1, 4), np.float32)}  # fmt: skip
    packed = pack_difference(tuned, base)
    assert packed["w"].nbytes == 4 * 50 / 2
    assert "same" not in packed
    save_file(packed, tmp_path / "difference.safetensors")
    restored = unpack_difference(load_file(tmp_path / "difference.safetensors"), base)
    for name in moved:
        step = np.abs(tuned[name] - base[name]).max(1, keepdims=True) / 7
        assert np.all(np.abs(restored[name] - tuned[name]) <= step / 2 + 1e-6)
    for name in ("b", "same", "head"):
        np.testing.assert_allclose(restored[name], tuned[name], rtol=1e-6)


def test_rows_that_did_not_change() -> None:
    base = {"w": np.ones((2, 3), np.float32)}
    tuned = {"w": base["w"].copy()}
    tuned["w"][1] += 2
    assert np.allclose(unpack_difference(pack_difference(tuned, base), base)["w"], tuned["w"])


def test_eight_bits_are_read() -> None:
    packed = {"w": np.array([[-127, 0, 127]], np.int8), "w.scale": np.array([0.5], np.float32)}
    restored = unpack_difference(packed, {"w": np.ones((1, 3), np.float32)})
    assert restored["w"].tolist() == [[-62.5, 1, 64.5]]


@pytest.mark.parametrize("shape", [(2, 5), (2, 2), (2, 8), (3, 3)])
def test_another_base_is_told(shape: tuple[int, int]) -> None:
    packed = pack_difference({"w": np.ones((2, 3), np.float32)}, {"w": np.zeros((2, 3), np.float32)})
    with pytest.raises(ModelError, match="the base has changed"):
        unpack_difference(packed, {"w": np.zeros(shape, np.float32)})
