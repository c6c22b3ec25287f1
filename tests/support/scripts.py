"""Scripts of benchmarks as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def load_script(name: str) -> ModuleType:
    """The module of a script in benchmarks/, as "speed/inverted_lists"; what it adds to Python's path is taken back."""
    spec = importlib.util.spec_from_file_location(Path(name).name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = [*sys.path]
    try:
        sys.modules[spec.name] = module  # for dataclasses
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
        del sys.modules[spec.name]
    return module
