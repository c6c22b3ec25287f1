"""The order of the stages that pretraining is compared in."""

from __future__ import annotations

from types import ModuleType

import pytest
from scripts import load_script

pytest.importorskip("torch")
pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("experiments/pretraining")


def test_each_system_goes_on_from_one_that_was_trained_before(script: ModuleType) -> None:
    trained: list[str] = []
    for stage in range(1, 4):
        for chain in script.chains(stage):
            assert script.THEN.join(chain.split(script.THEN)[:-1]) in ["", *trained]
            trained.append(chain)
    assert len(trained) == len(set(trained)) == 2 + 3 + 3
    assert script.chains(3)[2] == "distinct then clusters then clusters"


def test_a_difference_is_tested_over_seeds(script: ModuleType) -> None:
    ranks = {"a": [[1.0, 2.0], [1.0, 4.0]], "b": [[10.0, 10.0], [10.0, 20.0]], "once": [[1.0, 1.0]]}
    p = script.over_seeds(ranks, "a", "b")
    assert p == pytest.approx(0.0573, abs=1e-4)
    assert script.over_seeds(ranks, "b", "a") == pytest.approx(p)
    assert script.over_seeds(ranks, "a", "once") is None
