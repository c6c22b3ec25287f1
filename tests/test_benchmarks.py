"""Benchmarks and what fits shipped numbers share common.py and support/, import nothing of one another, and can be imported."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"
SCRIPTS = sorted([*BENCHMARKS.glob("*/*.py"), *BENCHMARKS.glob("*.py"), *(ROOT / "recipes").glob("[bf]*/*.py")])
SCRIPTS = [file for file in SCRIPTS if file.parent.name != "support" and file.name != "common.py"]
COMMANDS = [file for file in SCRIPTS if "__main__" in file.read_text(encoding="utf-8")]  # the others are their modules
TRAIN_EXTRA = {"datasets", "sentence_transformers", "torch"}

IMPORT = """
import importlib.util, json, sys

path, missing = [*sys.path], {}
for file in sys.argv[1:]:
    sys.path[:] = [file.rpartition("/")[0], *path]
    sys.modules.pop("common", None)  # it finds tests/support
    spec = importlib.util.spec_from_file_location("script", file)
    try:
        module = importlib.util.module_from_spec(spec)
        sys.modules["script"] = module
        spec.loader.exec_module(module)
        assert callable(getattr(module, "main", None)) == ("__main__" in open(file).read()), file
    except ModuleNotFoundError as error:
        missing[file] = error.name
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
    assert len({file.stem for file in SCRIPTS}) == len(SCRIPTS)
    names = {file.stem for file in COMMANDS}
    for file in [*SCRIPTS, *BENCHMARKS.rglob("*.py")]:
        assert not imported_modules(file) & names, file


@pytest.mark.system
def test_every_benchmark_can_be_imported() -> None:
    command = [sys.executable, "-P", "-c", IMPORT, *map(str, SCRIPTS)]
    imported = subprocess.run(command, capture_output=True, text=True)
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


COLLECT = """
import json, sys
from pathlib import Path

import endx
from oreqa.datasets.reqa import ReqaTask
from oreqa.files import write_jsonl

kept = Path(sys.argv[1])

def collect(recipe_of):
    for system, rival, seed, pairs, ranks in (
        ("dual", None, 0, "a", [1, 2]), ("dual", None, 1, "a", [1, 4]), ("endx", "dual", 0, "a", [1, 1]), ("mined", "dual", 0, "b", [9, 9]),
    ):
        facts = {"encoder": "gru", "system": system, "rival": rival, "seed": seed, "pairs_sha256": pairs, "recipe": recipe_of(seed)}
        facts |= {"settings": [], "steps": 3, "seconds_a_step": 1.0, "commit": "c"}
        rows = [facts, *({"ranks": [float(rank)]} for rank in ranks)]
        write_jsonl(kept / f"nq-gru-{system}-{seed}.jsonl.gz", rows)
    return endx.collect(kept, ReqaTask((), ("q", "r"), ((0,), (1,))), "nq", "a")

recipe = {"epochs": 4, "backbone": "work/narrow"}
print(json.dumps(collect(lambda seed: recipe | {"backbone": f"work{seed}/narrow"})))
collect(lambda seed: recipe | {"epochs": 4 - seed})
"""


@pytest.mark.system
@pytest.mark.train
def test_endx_compares_kept_runs_of_the_same_pairs_and_seeds(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, tmp_path], cwd=BENCHMARKS / "experiments", capture_output=True, text=True
    )
    assert done.stdout, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["rows"].keys() == {"gru dual", "gru endx"}
    assert result["rows"]["gru dual"]["mrr"] == [68.75, 8.84]  # of 75 and 62.5
    assert result["rows"]["gru endx"] == {
        "mrr": [100.0, 0.0], "r@1": [100.0, 0.0], "r@5": [100.0, 0.0], "seeds": 1, "epochs": 4, "settings": [],
        "steps": 3, "seconds_a_step": 1.0, "commit": "c",
    }  # fmt: skip
    (difference,) = result["mrr_differences"].items()
    assert difference[0] == "gru endx - dual"
    assert (difference[1]["mean"], difference[1]["seeds"]) == (0.25, 1)  # against the dual encoder of the same seed
    assert "another recipe than the runs with other seeds" in done.stderr
