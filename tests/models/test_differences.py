from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from oreqa.errors import ModelError
from oreqa.models.differences import pack_difference, unpack_difference


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


@pytest.mark.parametrize("shape", [(2, 5), (2, 2), (2, 8), (3, 3)])
def test_another_base_is_reported(shape: tuple[int, int]) -> None:
    packed = pack_difference({"w": np.ones((2, 3), np.float32)}, {"w": np.zeros((2, 3), np.float32)})
    with pytest.raises(ModelError, match="the base has changed"):
        unpack_difference(packed, {"w": np.zeros(shape, np.float32)})


def _factors(rank: int = 2) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[np.generic]]]:
    """A base, and a low-rank difference of its layer in eight bits."""
    rng = np.random.default_rng(0)
    base = {"layer.weight": rng.normal(size=(4, 6)).astype(np.float32), "layer.bias": np.ones(4, np.float32)}
    packed = {
        "layer.a": rng.integers(-127, 128, (rank, 6)).astype(np.int8),
        "layer.a_scale": rng.uniform(0.01, 0.02, (rank, 1)).astype(np.float16),
        "layer.b": rng.integers(-127, 128, (4, rank)).astype(np.int8),
        "layer.b_scale": rng.uniform(0.01, 0.02, (1, rank)).astype(np.float16),
        "layer.bias": np.full(4, 0.5, np.float16),
        "head.weight": np.full((1, 4), 0.25, np.float16),
    }
    return base, packed


def test_low_rank_factors_are_added_and_float16_replaces() -> None:
    base, packed = _factors()
    real = {name: value.astype(np.float64) for name, value in packed.items()}
    tuned = unpack_difference(packed, base)
    a, b = real["layer.a"] * real["layer.a_scale"], real["layer.b"] * real["layer.b_scale"]
    np.testing.assert_allclose(tuned["layer.weight"], base["layer.weight"] + b @ a, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(tuned["layer.bias"], np.full(4, 0.5))
    np.testing.assert_array_equal(tuned["head.weight"], np.full((1, 4), 0.25))
    assert all(value.dtype == np.float32 for value in tuned.values())
    halves = {"layer.a": a.astype(np.float16), "layer.b": b.astype(np.float16)}
    np.testing.assert_allclose(unpack_difference(halves, base)["layer.weight"], tuned["layer.weight"], atol=0.02)


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_factors_are_the_nearest_of_their_rank(rank: int) -> None:
    rng = np.random.default_rng(1)
    base = {"l.weight": rng.normal(size=(20, 30)).astype(np.float32), "l.bias": np.zeros(20, np.float32)}
    delta = (rng.normal(size=(20, 3)) @ rng.normal(size=(3, 30)) / 100).astype(np.float32)
    tuned = {"l.weight": base["l.weight"] + delta, "l.bias": base["l.bias"] + 1}
    packed = pack_difference(tuned, base, rank)
    assert {name: value.dtype.name for name, value in packed.items()} == {
        "l.a": "int8", "l.a_scale": "float16", "l.b": "int8", "l.b_scale": "float16", "l.bias": "float32",
    }  # fmt: skip
    restored = unpack_difference(packed, base)
    singular = np.linalg.svd(delta, compute_uv=False)
    error = np.linalg.norm(restored["l.weight"] - tuned["l.weight"])
    assert error == pytest.approx(np.linalg.norm(singular[rank:]), abs=float(0.02 * np.linalg.norm(delta)))
    np.testing.assert_array_equal(restored["l.bias"], tuned["l.bias"])


def test_damaged_factors_are_reported() -> None:
    base, packed = _factors()
    for missing in ("layer.a", "layer.b_scale"):
        with pytest.raises(ModelError, match="the low-rank difference of layer is damaged"):
            unpack_difference({name: value for name, value in packed.items() if name != missing}, base)
    with pytest.raises(ModelError, match="damaged"):
        unpack_difference({**packed, "layer.b": np.zeros((4, 3), np.int8)}, base)
    with pytest.raises(ModelError, match=r"the difference of layer\.weight does not fit its base"):
        unpack_difference(packed, {"layer.weight": np.zeros((4, 5), np.float32)})
