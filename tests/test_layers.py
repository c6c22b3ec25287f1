"""Imports point down the design's list only, and losses know nothing of ours."""

from __future__ import annotations

import ast
from pathlib import Path

import oreqa

ROOT = Path(oreqa.__file__).parent
LAYERS = [
    {"core", "errors"},
    {"corpus", "datasets"},
    {"models"},
    {"runtime"},
    {"index", "losses"},
    {"mining"},
    {"training"},
    {"evaluation"},
    {"answering", "adaptation"},
    {"server", "cli", "__init__", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def test_imports_point_down() -> None:
    wrong = []
    for file in ROOT.rglob("*.py"):
        own = file.relative_to(ROOT).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oreqa."):
                other = node.module.split(".")[1]  # type: ignore[union-attr]
                if other != own and (own == "losses" or LEVEL[other] > LEVEL[own]):
                    wrong.append(f"{file.relative_to(ROOT)} imports {node.module}")
    assert not wrong
