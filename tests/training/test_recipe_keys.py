"""What the help pages and the reference say of recipes is what recipes are."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("pydantic")
pytestmark = pytest.mark.train

from oreqa.cli import app  # noqa: E402
from oreqa.training.recipe_keys import recipe_reference, recipe_tables  # noqa: E402
from oreqa.training.recipes import load_recipe  # noqa: E402
from oreqa.training.train import RECIPES  # noqa: E402

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", RECIPES)
def test_every_key_is_described(kind: str) -> None:
    for _, keys in recipe_tables(RECIPES[kind]):
        assert keys
        for key in keys:
            assert key.description.endswith("."), key
            assert len(key.description) >= 8
            assert key.value


def test_values_and_defaults_in_words() -> None:
    tables = dict(recipe_tables(RECIPES["retriever"]))
    words = {key.name: (key.value, key.default) for key in tables[""]}
    assert words["kind"] == ("retriever", None)
    assert words["data"] == ("list of paths", None)
    assert words["loss"] == ("softmax, soft_labels", "softmax")
    assert words["chunk"] == ("integer >= 1", "")
    assert words["min_probability"] == ("number 0 to 1", "0.5")
    assert words["scale"] == ("number > 0", "100.0")
    assert words["input_types"] == ("true, false", "false")
    assert {key.name: key.default for key in tables["[optimiser]"]}["batch"] is None
    assert [name for name, _ in recipe_tables(RECIPES["reader"])] == ["", "[[data]]", "[optimiser]", "[lora]"]


@pytest.mark.parametrize("kind", RECIPES)
@pytest.mark.parametrize("columns", [80, 120])
def test_the_help_page_lists_every_key(kind: str, columns: int) -> None:
    page = CliRunner().invoke(app, ["train", kind, "--help"], env={"COLUMNS": str(columns)}).stdout
    assert max(map(len, page.splitlines())) <= columns
    for name, keys in recipe_tables(RECIPES[kind]):
        assert (name or "Keys of the recipe") in page
        for key in keys:
            shown = {None: f" {key.name} (needed) ", "": f" {key.name} "}.get(key.default, f" {key.name} = {key.default} ")
            assert shown in page


def test_the_help_page_loads_no_torch() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from oreqa.cli import app\n"
        "page = CliRunner().invoke(app, ['train', 'retriever', '--help']).stdout\n"
        "assert 'min_probability' in page\n"
        "print(sorted({'torch', 'transformers', 'openvino'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


def test_the_help_page_without_pydantic_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oreqa.training.recipe_keys", None)
    result = CliRunner().invoke(app, ["train", "reader", "--help"])
    assert result.exit_code == 0
    assert "once the train extra is installed" in result.stdout


def test_the_built_reference_lists_the_keys() -> None:
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    page = hooks["on_page_markdown"]((ROOT / "docs" / "reference.md").read_text())
    assert recipe_reference() in page
    assert hooks["PLACE"] not in page


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").rglob("*.toml")), ids=lambda path: path.stem)
def test_the_recipes_are_read(path: Path) -> None:
    kind = next(kind for kind in RECIPES if f'kind = "{kind}"' in path.read_text())
    assert load_recipe(RECIPES[kind], path).kind == kind
