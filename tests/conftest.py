"""What the tests share: tiny random models, and a few documents."""

from __future__ import annotations

import gc
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants  # tests change it before anything has loaded it
import pytest
import typer.testing
from hub_server import Hub, serve_hub
from tiny_models import make_fitted, make_generator, make_head, make_model

# One precision for the tests on every processor. Those of another one name it, or the variable is set from outside.
PRECISION = os.environ.setdefault("OREQA_PRECISION", "f32")

# Models of the Hub come from a server of the tests' own, if at all.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(Path(__file__).parent / "no-hub")}

# The tests cut no power: nothing waits for the disk.
os.fsync = os.fstat  # type: ignore[assignment]

if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: threads of their own would wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# The command line is built once for all the commands that a process of the tests runs.
typer.testing._get_command = lru_cache(maxsize=1)(typer.main.get_command)

# No process of the tests may leave the machine: each one watches itself, commands and workers that they start, too.
WATCHED = Path(__file__).parent / "support" / "watched"
if "OREQA_CONNECTIONS" not in os.environ:
    os.environ["OREQA_CONNECTIONS"] = str(Path(tempfile.mkdtemp()) / "connections.txt")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(WATCHED), os.environ.get("PYTHONPATH")]))
    runpy.run_path(str(WATCHED / "sitecustomize.py"))

DATA = Path(__file__).parent.parent.parent / "shared" / "data"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "shared_data" in item.keywords and not DATA.is_dir():
            item.add_marker(pytest.mark.skip(reason=f"{DATA} is not here"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    noted = Path(os.environ["OREQA_CONNECTIONS"])
    if "PYTEST_XDIST_WORKER" not in os.environ and noted.is_file():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nProcesses of the tests left the machine, or tried to:\n{noted.read_text()}")


@pytest.fixture(autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled models go to a folder of the test run, kept between its tests; a command's --precision ends with its test.

    No index is named from outside."""
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("OREQA_PRECISION", PRECISION)
    monkeypatch.delenv("OREQA_INDEX", raising=False)


class Kept(dict[object, object]):
    """The last 64 compiled graphs."""

    def __setitem__(self, key: object, graph: object) -> None:
        super().__setitem__(key, graph)
        while len(self) > 64:
            del self[next(iter(self))]


KEPT = Kept()
FROZEN = {"modules": 0}
"""How many modules were loaded when ``gc.freeze`` was last called."""


def pytest_runtest_setup() -> None:
    graphs = sys.modules.get("oreqa.models.graph.openvino")
    if graphs and graphs.in_use is not KEPT:
        KEPT.update(graphs.in_use)
        graphs.in_use = KEPT  # else a graph is freed with the last model that uses it


def pytest_runtest_teardown() -> None:
    if len(sys.modules) > FROZEN["modules"] + 100:
        FROZEN["modules"] = len(sys.modules)
        gc.collect()
        gc.freeze()


@pytest.fixture
def new_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line is built anew for each command: the test changes what a command runs."""
    monkeypatch.setattr(typer.testing, "_get_command", typer.main.get_command)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hugging Face Hub on loopback, with an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "oreqa"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with serve_hub() as served:
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", served.url)
        template = served.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield served


@pytest.fixture(scope="session")
def data() -> Path:
    return DATA


@pytest.fixture(scope="session")
def tiny_reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_head(tmp_path_factory.mktemp("models") / "reader", "reader")


@pytest.fixture(scope="session")
def tiny_extractor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_head(tmp_path_factory.mktemp("models") / "extractor", "extractor", seed=7)


@pytest.fixture(scope="session")
def tiny_reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_head(tmp_path_factory.mktemp("models") / "reranker", "reranker", seed=3)


@pytest.fixture(scope="session")
def tiny_classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_head(tmp_path_factory.mktemp("models") / "classifier", "classifier", seed=5, marking="marked")


@pytest.fixture(scope="session")
def tiny_generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_generator(tmp_path_factory.mktemp("models") / "generator")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def fitted(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny encoder with weights and a calibration."""
    return make_fitted(tiny, "minilm-retriever", tiny, tmp_path_factory.mktemp("models") / "fitted")


@pytest.fixture(scope="session")
def fitted_reader(tiny: Path, tiny_reader: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny reader with what was fitted for it and the tiny encoder."""
    return make_fitted(tiny_reader, "minilm-reader", tiny, tmp_path_factory.mktemp("models") / "fitted-reader")


@pytest.fixture(scope="session")
def fitted_reranker(tiny: Path, tiny_classifier: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny classifier, with what was fitted for it to reconsider the spans of the tiny reader."""
    return make_fitted(tiny_classifier, "minilm-classifier", tiny, tmp_path_factory.mktemp("models") / "fitted-reranker")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Three small files in a folder, not written just now."""
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "octopus.md").write_text(
        "# Octopus\n\nAn octopus has three hearts. Its blood is blue.\n\n## Arms\n\nIt has eight arms.\n"
    )
    (folder / "bees.txt").write_text("Bees dance to tell where flowers are. The queen lays eggs.\n\nDrones have no sting.\n")
    (folder / "rows.jsonl").write_text(
        '{"id": "a", "title": "Tents", "text": "The tent is waterproof.", "kind": "tent"}\n'
        '{"id": "b", "title": "Boots", "text": "The boots are made of leather.", "kind": "shoe"}\n'
    )
    for file in folder.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))  # settled: a file just written is read once more by the next update
    return folder


@pytest.fixture
def squad_file(tmp_path: Path) -> Path:
    """A small SQuAD file of letters that the tiny models can read, with articles on both sides of the held-out split."""
    articles = []
    for number in range(24):
        text = f"fox {number} jumps over dog {number} and eats the bone of dog {number}. then it sleeps in house {number}"
        questions = [
            {"id": f"{number}-{q}", "question": f"{verb} {number}", "answers": [{"text": a, "answer_start": text.index(a)}]}
            for q, (verb, a) in enumerate((("who jumps over dog", f"fox {number}"), ("where sleeps fox", f"house {number}")))
        ]
        articles.append({"title": f"story_{number}", "paragraphs": [{"context": text, "qas": questions}]})
    path = tmp_path / "stories.json"
    path.write_text(json.dumps({"version": "1.1", "data": articles}))
    return path
