"""The check of questions notices blocks that do not stand in their document."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "quality" / "check_questions.py"
TEXT = "To clean the still: 1. Cut the power. Never open it hot. 2. Drain it. 3. Rinse it twice."
ROW = {
    "id": "still-01",
    "document": "still.txt",
    "answers": ["Rinse it"],
    "lead": "To clean the still:",
    "block": ["Cut the power.", "Drain it.", "Rinse it twice."],
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_questions", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "still.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_a_block_that_stands_there_passes(script: ModuleType, folder: Path) -> None:
    assert script.problems(ROW, folder) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"block": ["Cut the power.", "Drain it.", "Dry it."]}, "holds 'dry it.'"),
        ({"block": ["Drain it.", "Cut the power."], "answers": ["Drain it"]}, "do not stand together"),
        ({"lead": "To fill the still:"}, "holds 'to fill the still:'"),
        ({"answers": ["Dry it"]}, "stands in the block"),
        ({"answers": ["open it hot"]}, "stands in the block"),
        ({"block": []}, "is empty"),
    ],
)
def test_a_block_that_does_not_is_noticed(script: ModuleType, folder: Path, change: dict[str, Any], problem: str) -> None:
    (found,) = script.problems({**ROW, **change}, folder)
    assert problem in found


def test_parts_far_apart_are_no_block(script: ModuleType) -> None:
    assert script.together(["cut.", "rinse."], "cut." + " " * script.WARNING + "rinse.")
    assert not script.together(["cut.", "rinse."], "cut." + " " * script.WARNING + " rinse.")


def test_words_of_an_unanswerable_question_must_be_absent(script: ModuleType, folder: Path) -> None:
    row = {"id": "still-02", "answers": [], "absent": ["boil", "drain"]}
    assert script.problems(row, folder) == ["the collection holds 'drain'"]
