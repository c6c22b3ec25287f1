from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hub_server import Hub
from training_parts import reader_recipe

pytest.importorskip("torch")

from oreqa.training.reader.recipe import ReaderRecipe
from oreqa.training.records import TRAINING_STARTED, train_recorded

pytestmark = pytest.mark.train


def test_a_record_names_the_commit_of_its_backbone(hub: Hub, tiny: Path, squad_file: Path, tmp_path: Path) -> None:
    commit = hub.add("org/tiny-bert", tiny)
    backbones = []

    def train(recipe: ReaderRecipe, out: Path, progress: object) -> dict[str, Any]:
        backbones.append(recipe.backbone)
        return {"steps": 1}

    train_recorded(train, reader_recipe(squad_file, tiny, backbone="org/tiny-bert"), tmp_path / "out")
    assert backbones == [f"org/tiny-bert@{commit}"]
    assert json.loads((tmp_path / "out" / "run.json").read_text())["recipe"]["backbone"] == f"org/tiny-bert@{commit}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_fifo_in_the_place_of_its_record_does_not_stop_a_run(tiny: Path, squad_file: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / TRAINING_STARTED)

    def train(recipe: ReaderRecipe, out: Path, progress: object) -> dict[str, Any]:
        assert json.loads((out / TRAINING_STARTED).read_text())["recipe"]["backbone"] == str(tiny)
        return {"steps": 1}

    assert train_recorded(train, reader_recipe(squad_file, tiny), tmp_path)["steps"] == 1
