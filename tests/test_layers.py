"""Imports point down the design's list only, no two files import each other, and only some files may import torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import oreqa

ROOT = Path(oreqa.__file__).parent
LAYERS = [
    {"arrays", "core", "defaults", "errors", "lazy", "visible"},
    {"as_json", "atomic", "notebook", "paths", "progress"},
    {"answer", "arguments", "files", "locks", "processes", "provenance"},
    {"parts"},
    {"text"},
    {"corpus"},
    {"datasets"},
    {"models", "losses"},
    {"index"},
    {"answering"},
    {"mining"},
    {"generation"},
    {"training"},
    {"evaluation"},
    {"fitting"},
    {"adaptation"},
    {"server", "integrations"},
    {"cli"},
    {"__init__", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = sorted(ROOT.rglob("*.py"))


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(file) for file in FILES}


def imported(source: str, module: str, is_package: bool = False) -> Iterator[str]:
    """Every module that a source imports in any form, wherever in it: ``import a.b``, ``from a import b``, ``from . import b``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if f"{base}.{alias.name}" in MODULES)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in ("import_module", "__import__") and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def layer_of(module: str) -> str:
    """The layer of a module of ours; the package itself is the door, above all of them."""
    return [*module.split("."), "__init__"][1]


def wrong_imports(file: Path) -> Iterator[str]:
    module, layer = module_name(file), layer_of(module_name(file))
    for name in imported(file.read_text(), module, file.name == "__init__.py"):
        if name.split(".")[0] == "oreqa" and name != module:
            other = layer_of(name)
            if other != layer and (layer == "losses" or LEVEL[other] >= LEVEL[layer]):
                yield f"{module} imports {name}"


@pytest.mark.parametrize("source", [
    "import oreqa.cli", "import oreqa.cli.ask as x", "from oreqa import cli", "from oreqa.cli import ask", "import oreqa",
    "from .. import cli", "from ..cli.ask import y", "def f():\n    from oreqa import Answerer",
    "from importlib import import_module\nimport_module('oreqa.cli')",
])  # fmt: skip
def test_every_form_of_import_is_seen(source: str) -> None:
    names = [name for name in imported(source, "oreqa.index.search") if name.split(".")[0] == "oreqa"]
    assert any(LEVEL[layer_of(name)] > LEVEL["index"] for name in names)


def test_imports_point_down() -> None:
    assert [line for file in FILES for line in wrong_imports(file)] == []


def test_the_architecture_page_lists_the_layers_in_their_order() -> None:
    page = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text()
    table = page[page.index("| layer | holds |") : page.index("The base install")]
    assert [set(re.findall(r"`(\w+)`", row.split("|")[1])) for row in table.splitlines()[2:] if row] == LAYERS


def test_no_two_files_import_each_other() -> None:
    edges = {
        module_name(file): set(imported(file.read_text(), module_name(file), file.name == "__init__.py")) & MODULES
        for file in FILES
    }
    pairs = {tuple(sorted((a, b))) for a, names in edges.items() for b in names if a != b and a in edges.get(b, ())}
    assert sorted(pairs) == []


def test_only_training_code_imports_torch() -> None:
    allowed = ("oreqa.training", "oreqa.losses")
    heavy = {"torch", "transformers", "sentence_transformers", "accelerate"}
    wrong = []
    for file in FILES:
        module = module_name(file)
        if not module.startswith(allowed) and file.name not in ("module.py", "torch.py"):
            names = {name.split(".")[0] for name in imported(file.read_text(), module)}
            wrong += [f"{module} imports {name}" for name in sorted(names & heavy)]
    assert wrong == []
