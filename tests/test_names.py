"""A local name says what it holds: names that say nothing are not used for variables and parameters."""

from __future__ import annotations

import ast
from pathlib import Path

import oreqa

ROOT = Path(oreqa.__file__).parent
EMPTY = {"found", "own", "known", "one", "made", "given", "more", "least", "stuff", "thing"}


def test_local_names_say_what_they_hold() -> None:
    wrong = []
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            name = node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None
            name = node.arg if isinstance(node, ast.arg) else name
            if name in EMPTY:
                wrong.append(f"{file.relative_to(ROOT)}:{node.lineno}: {name}")  # type: ignore[attr-defined]
    assert wrong == []
