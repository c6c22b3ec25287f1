"""Benchmarks import what they share from common.py and support/, never from one another, and all can be imported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = {file.stem for file in BENCHMARKS.glob("*.py")} - {"common"}
TRAIN_EXTRA = {"datasets", "sentence_transformers", "torch"}

IMPORT = """
import importlib, json, sys

missing = {}
for name in sys.argv[1:]:
    try:
        assert callable(importlib.import_module(name).main), name
    except ModuleNotFoundError as error:
        missing[name] = error.name
print(json.dumps(missing))
"""


def imported_modules(file: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, file
            modules.add((node.module or "").partition(".")[0])
    return modules


def test_no_benchmark_imports_another() -> None:
    assert len(SCRIPTS) > 25
    for file in BENCHMARKS.rglob("*.py"):
        assert not imported_modules(file) & SCRIPTS, file


@pytest.mark.slow
def test_every_benchmark_can_be_imported() -> None:
    command = [sys.executable, "-c", IMPORT, *sorted(SCRIPTS)]
    imported = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True)
    assert imported.returncode == 0, imported.stderr
    assert set(json.loads(imported.stdout.splitlines()[-1]).values()) <= TRAIN_EXTRA


def test_a_result_names_its_commit(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from common import write_result; write_result(Path(sys.argv[1]), {'a': 1})"
    written = subprocess.run([sys.executable, "-c", code, tmp_path / "result.json"], cwd=BENCHMARKS, capture_output=True)
    assert written.returncode == 0, written.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=BENCHMARKS, capture_output=True, text=True)
    assert result["a"] == 1
    assert result["commit"].removesuffix("-dirty") == (head.stdout.strip() or "unknown")
