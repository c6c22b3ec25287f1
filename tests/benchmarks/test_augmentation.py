"""What trainings of augmentation.py are reused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from scripts import load_script

pytestmark = pytest.mark.train


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script without models: what it mines, measures and tabulates is empty."""
    module = load_script("experiments/augmentation")
    for name in ("find_model", "model_fingerprint"):
        monkeypatch.setitem(module.kept_folder.__globals__, name, str)
    test = module.Test("reqa", "reqa", ())
    monkeypatch.setattr(module, "domain", lambda *_: (Path("train"), (test,)))
    monkeypatch.setattr(module, "mine", lambda *_: [])
    monkeypatch.setattr(module, "count_pairs", lambda _: {})
    monkeypatch.setattr(module, "tabulate", lambda *_: {})
    monkeypatch.setattr(module, "read_json", lambda _: {"data_sha256": ""})
    return module


def test_models_of_other_settings_are_not_reused(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained: list[Path] = []
    measured: list[Path] = []
    reported: list[Any] = []

    def train(*arguments: object) -> None:
        folder = Path(str(arguments[-1]))
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
        trained.append(folder)

    def evaluate(test: Any, work: Path, name: str, *_: object) -> SimpleNamespace:
        if name.startswith("gold"):
            measured.append(work / name)
        return SimpleNamespace(summary={"questions": 1})

    monkeypatch.setattr(script, "oreqa", train)
    monkeypatch.setattr(script, "evaluate", evaluate)
    monkeypatch.setattr(script, "report", lambda name, result: reported.append(result["settings"]))
    for epochs in (8, 1, 8):
        arguments = f"squad --data data --work {tmp_path} --variants gold --modes dense --set epochs={epochs}"
        monkeypatch.setattr(sys, "argv", ["augmentation.py", *arguments.split()])
        script.main()
    assert len(trained) == len(set(trained)) == 2
    assert measured[0] == measured[2] != measured[1]
    assert reported == [["epochs=8"], ["epochs=1"], ["epochs=8"]]
