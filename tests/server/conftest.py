"""One server of a small library for all tests of its addresses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from served import served

from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.server.collections import ServedCollection, close_collections, open_collections
from oreqa.server.drawing import Drawer


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    drawer = Drawer()
    yield drawer
    drawer.close()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small documents that were not written just now."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "octopus.md").write_text(
        "# Octopus\n\nAn octopus has three hearts. Its blood is blue.\n\n## Arms\n\nIt has eight arms.\n"
    )
    (folder / "bees.txt").write_text("Bees dance to tell where flowers are. The queen lays eggs.\n\nDrones have no sting.\n")
    (folder / "odd \u202e name.txt").write_text(
        "A text with an \x1b[1m escape and a \U000e0041 tag and a \u202e turn in it.\n"
    )
    (folder / "rows.jsonl").write_text(
        '{"id": "a", "title": "Tents", "text": "The tent is waterproof.", "kind": "tent"}\n'
        '{"id": "b", "title": "Boots", "text": "The boots are made of leather.", "kind": "shoe"}\n'
    )
    for file in folder.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture(scope="session")
def shelf_index(shelf: Path, fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexes") / "shelf"
    index_files(folder, shelf, Settings(str(fitted)))
    return folder


@pytest.fixture(scope="session")
def collections(shelf_index: Path, fitted_reader: Path) -> Iterator[dict[str, ServedCollection]]:
    opened = open_collections({"shelf": shelf_index}, reader=fitted_reader)
    yield opened
    close_collections(opened)


@pytest.fixture(scope="session")
def client(collections: dict[str, ServedCollection]) -> Iterator[httpx.Client]:
    with served(collections) as opened:
        yield opened
