"""What the adapters share, without any framework."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from oreqa import integrations
from oreqa.errors import InputError
from oreqa.integrations.shared import SharedIndex, missing_extra


@pytest.mark.parametrize(
    ("module", "package", "name", "extra"),
    [
        ("haystack", "haystack", "haystack-ai", "haystack"),
        ("langchain", "langchain_core", "langchain-core", "langchain"),
        ("llama_index", "llama_index", "llama-index-core", "llama-index"),
    ],
)
def test_a_missing_framework_is_named_with_its_extra(
    module: str, package: str, name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for imported in [n for n in sys.modules if n.startswith((f"{package}.", f"oreqa.integrations.{module}"))]:
        monkeypatch.delitem(sys.modules, imported)
    monkeypatch.setitem(sys.modules, package, None)  # importing it raises ModuleNotFoundError
    with pytest.raises(InputError) as caught:
        importlib.import_module(f"oreqa.integrations.{module}")
    assert str(caught.value) == f"oreqa.integrations.{module} needs {name}: pip install 'oreqa[{extra}]'"


def test_the_how_to_names_every_component() -> None:
    text = (Path(__file__).parents[2] / "docs/how-to.md").read_text()
    rows = [f"| `{name.replace('_', '-')}` | `oreqa.integrations.{name}.OreqaRetriever(" for name in integrations.__all__]
    assert [row for row in rows if row not in text] == []


def test_another_missing_module_is_not_hidden() -> None:
    error = ModuleNotFoundError("No module named 'yaml'", name="yaml")
    with pytest.raises(ModuleNotFoundError, match="yaml"):
        missing_extra(error, "haystack", "haystack-ai", "haystack")


def test_an_index_is_opened_once_when_it_is_first_searched(kb: Path) -> None:
    shared = SharedIndex(kb)
    assert shared.open("sparse") is shared.open("hybrid")
    assert shared.folder == kb
