"""The examples of the public docstrings run as they are written."""

from __future__ import annotations

import doctest
import inspect
import io
import re
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from tiny_models import make_generator, make_head

import oreqa

ROOT = Path(__file__).parent.parent
MODULES = sorted({"oreqa", *(getattr(oreqa, name).__module__ for name in oreqa.__all__ if name != "__version__")})
RESULTS = {"Explanation", "GeneratedQuestion", "Hit", "MergeReport", "RankedDocument", "Reply", "Report", "Section", "Span"}
"""Classes that nobody makes, or needs in a first program."""


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few documents, an index of them, which the examples call kb, a generator and an extractor."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "docs").mkdir()
    (folder / "docs" / "octopus.md").write_text(
        "# Octopus\n\nAn octopus has three hearts. Its blood is blue.\n\n## Life span\n\nMost live only one or two years.\n"
    )
    (folder / "docs" / "bees.md").write_text("# Bees\n\nBees dance to tell each other where flowers are.\n")
    (folder / "docs" / "tents.jsonl").write_text(
        '{"id": 1, "title": "Tent", "text": "The tent weighs two kilograms.", "category": "tents"}\n'
        '{"id": 2, "title": "Boots", "text": "The boots are made of leather.", "category": "shoes"}\n'
    )
    (folder / "notes.txt").write_text("The key to the shed hangs behind the door.\n")
    make_generator(folder / "runs" / "generator")
    make_head(folder / "runs" / "extractor", "extractor")
    oreqa.index_files(folder / "kb", [folder / "docs", folder / "notes.txt"])
    return folder


@pytest.fixture
def here(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples' folder that is the working directory."""
    shutil.copytree(examples, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str, here: Path) -> None:
    tests = [test for test in doctest.DocTestFinder().find(import_module(module)) if test.examples]
    said = io.StringIO()
    for test in tests:
        doctest.DocTestRunner().run(test, out=said.write)
    assert said.getvalue() == ""


def test_every_public_function_and_class_has_an_example_or_is_shown_in_one() -> None:
    shown = "".join(inspect.getsource(import_module(module)) for module in MODULES)
    examples = "".join(re.findall(r"^ *(?:>>>|\.\.\.) .*$", shown, re.MULTILINE))
    for name in oreqa.__all__:
        public = getattr(oreqa, name)
        if inspect.isfunction(public):
            assert ">>>" in (inspect.getdoc(public) or ""), name
        elif inspect.isclass(public) and not issubclass(public, Exception) and name not in RESULTS:
            assert re.search(rf"\b{name}\b", examples), name


def test_no_example_is_skipped() -> None:
    assert not [module for module in MODULES if "+SKIP" in inspect.getsource(import_module(module))]


def test_the_public_names() -> None:
    assert oreqa.__all__ == sorted(oreqa.__all__)
    assert dir(oreqa) == sorted([*oreqa.__all__, "adaptation", "evaluation", "fitting", "generation", "mining", "training"])
    assert callable(oreqa.evaluation.evaluate_reqa)
    for name in oreqa.__all__:
        assert getattr(oreqa, name) is not None
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", oreqa.__version__)
    with pytest.raises(AttributeError, match="module 'oreqa' has no attribute 'nothing'"):
        oreqa.nothing  # noqa: B018
    from oreqa import errors

    classes = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, errors.OreqaError)]
    assert {error.__name__ for error in classes} <= set(oreqa.__all__)
