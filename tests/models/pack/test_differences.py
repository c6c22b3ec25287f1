from __future__ import annotations

import numpy as np
import pytest

from oreqa.errors import ModelError
from oreqa.models.pack.differences import pack_difference, unpack_difference


def test_round_trip_is_within_half_a_step() -> None:
    rng = np.random.default_rng(0)
    base = {"w": rng.normal(size=(4, 50)), "b": rng.normal(size=4), "same": rng.normal(size=(2, 2))}
    base = {name: value.astype(np.float32) for name, value in base.items()}
    tuned = {"w": base["w"] + rng.normal(0, 0.01, (4, 50)).astype(np.float32), "b": base["b"] + 1, "same": base["same"],
             "head": np.ones((1, 4), np.float32)}  # fmt: skip
    packed = pack_difference(tuned, base)
    assert packed["w"].dtype == np.int8
    assert "same" not in packed
    restored = unpack_difference(packed, base)
    step = np.abs(tuned["w"] - base["w"]).max(1, keepdims=True) / 127
    assert np.all(np.abs(restored["w"] - tuned["w"]) <= step / 2 + 1e-6)
    for name in ("b", "same", "head"):
        np.testing.assert_allclose(restored[name], tuned[name], rtol=1e-6)


def test_rows_that_did_not_change() -> None:
    base = {"w": np.ones((2, 3), np.float32)}
    tuned = {"w": base["w"].copy()}
    tuned["w"][1] += 2
    assert np.allclose(unpack_difference(pack_difference(tuned, base), base)["w"], tuned["w"])


def test_another_base_is_told() -> None:
    packed = pack_difference({"w": np.ones((2, 3), np.float32)}, {"w": np.zeros((2, 3), np.float32)})
    with pytest.raises(ModelError, match="the base has changed"):
        unpack_difference(packed, {"w": np.zeros((2, 4), np.float32)})
