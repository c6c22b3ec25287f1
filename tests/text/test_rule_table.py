"""Every rule of text that answers go through stands in one table, with its gain."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import oreqa

ROOT = Path(oreqa.__file__).parent
PAGE = ROOT.parents[1] / "docs" / "text-rules.md"


def rules(*rooms: str) -> Iterator[str]:
    """The functions of ``oreqa.text`` that modules of the rooms import."""
    for room in rooms:
        for file in sorted((ROOT / room).rglob("*.py")):
            if file.name in ("explanation.py", "expected.py"):  # they compare answers with the expected one
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("oreqa.text."):
                    yield from (alias.name for alias in node.names if alias.name[0].islower())


def listed() -> set[str]:
    """The functions in the tables of rules that are in force."""
    tables = PAGE.read_text().partition("## Rules that went")[0]
    cells = [line.split("|")[2] for line in tables.splitlines() if line.startswith("| ")]
    return {name.strip(" `") for cell in cells for name in cell.split(",") if "`" in name}


def test_every_rule_that_answers_go_through_stands_in_the_table() -> None:
    names = set(rules("answering", "corpus", "models/reader", "models/extractor"))
    assert {"whole_words", "whole_cell", "contains_names", "is_name"} <= names
    assert names - listed() == set()


def test_a_rule_in_the_table_exists() -> None:
    functions = {
        node.name
        for file in (ROOT / "text").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    assert listed() - functions == set()
