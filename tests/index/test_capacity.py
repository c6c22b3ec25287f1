"""What is foretold of an index's size is what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oreqa.core import Document
from oreqa.errors import InputError
from oreqa.index import drafts
from oreqa.index.capacity import MEASURED, Machine, costs_of, parse_machine, plan
from oreqa.index.generations import CHANGES, require_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings

RESULTS = json.loads((Path(__file__).parents[2] / "results" / "capacity" / "costs.json").read_text())
GROWTH = json.loads((Path(__file__).parents[2] / "results" / "capacity" / "growth.json").read_text())["collections"]
ROWS: list[dict[str, Any]] = RESULTS["collections"]
SMALL = Machine(2, 8e9)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["passages"])
def test_bytes_are_predicted(row: dict[str, Any]) -> None:
    predicted, sizes = plan(row["passages"], SMALL), row["bytes"]
    words = sum(size for name, size in sizes.items() if name.endswith(".words.npy"))
    documents = sum(size for name, size in sizes.items() if name.endswith(".db"))
    assert predicted.disk == pytest.approx(sum(sizes.values()), rel=0.15)
    assert row["passages"] * MEASURED.words == pytest.approx(words, rel=0.15)
    assert row["passages"] * MEASURED.documents == pytest.approx(documents, rel=0.15)
    vectors = sum(sizes.values()) - words - documents
    assert row["passages"] * MEASURED.vectors == pytest.approx(vectors, rel=0.15)


def test_costs_are_those_that_were_measured() -> None:
    """Times differ by more from run to run: within a fifth at the largest size, where they count."""
    row, encoder = ROWS[-1], RESULTS["encoder"]
    predicted = plan(row["passages"], SMALL)
    assert MEASURED.encode == pytest.approx(encoder["encode"] / encoder["passages"], rel=0.05)
    assert MEASURED.characters == pytest.approx(row["characters"] / row["passages"], rel=0.05)
    assert MEASURED.sentences == pytest.approx(row["sentences"] / row["passages"], rel=0.05)
    for name in ("memory", "update"):
        assert getattr(predicted, name) == pytest.approx(row[name], rel=0.2), name
    assert predicted.write == pytest.approx(row["build"], rel=0.2)


@pytest.mark.parametrize("size", ["14000", "100000", "1000000"])
def test_searches_are_predicted_up_to_a_million_passages(size: str) -> None:
    row = GROWTH[size]["search"]
    predicted = plan(row["passages"], SMALL)
    assert predicted.search == pytest.approx(row["processor ms"]["p50"] / 1000, rel=0.15)
    assert predicted.disk == pytest.approx(row["passages"] * row["bytes a passage"], rel=0.15)


def test_a_plan_grows_with_the_passages_and_the_machine_is_counted() -> None:
    small, large = plan(1_000_000, parse_machine("16c64g")), plan(100_000_000, parse_machine("16c64g"))
    assert large.disk == pytest.approx(100 * small.disk)
    assert (small.machines, large.machines > 1) == (1, True)
    assert large.month_dollars == pytest.approx(large.machines * small.month_dollars)
    assert plan(1_000_000, parse_machine("32C128GB")).build < small.build
    assert small.room > small.disk


@pytest.mark.parametrize("text", ["", "16", "16c", "0c64g", "16c64", "c64g", "16 64", "1.5c4g"])
def test_other_machines_are_a_line(text: str) -> None:
    with pytest.raises(InputError, match=r"is no machine: write its cores and its GB of memory, as 16c64g$"):
        parse_machine(text)


def test_an_index_tells_its_own_bytes(tmp_path: Path, tiny: Path) -> None:
    texts = [f"The fox number {number} jumps over the dog. It eats a bone." for number in range(600)]
    index_documents(tmp_path / "kb", [Document(text, "", text) for text in texts], Settings(str(tiny)))
    passages, costs = costs_of(tmp_path / "kb")
    with Index.open(tmp_path / "kb") as index:
        counts = index.counts()
        dimensions = index.passage_vectors().shape[1]
    assert passages == counts["passages"]
    assert costs.sentences == counts["sentences"] / passages == 2
    assert costs.vector == dimensions + 4
    disk = sum(file.stat().st_size for file in (tmp_path / "kb" / "search-000001").rglob("*"))
    assert plan(passages, SMALL, costs).disk == pytest.approx(disk, rel=0.1)
    assert costs.encode < MEASURED.encode
    index_documents(tmp_path / "small", "One text.", Settings(str(tiny)))
    assert costs_of(tmp_path / "small") == (1, MEASURED)


def test_sentences_of_replaced_documents_are_not_counted(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "_SHARE", 0)  # however small the documents are, what changes is written beside them
    texts = [f"The fox number {number} jumps over the dog. It eats a bone." for number in range(600)]
    index_documents(tmp_path / "kb", [Document(text, "", text) for text in texts], Settings(str(tiny)))
    index_documents(tmp_path / "kb", [Document(text, "", f"{text} It sleeps. It runs.") for text in texts[:30]])
    assert (require_generation(tmp_path / "kb") / CHANGES).is_file()
    assert costs_of(tmp_path / "kb")[1].sentences == (2 * 570 + 4 * 30) / 600
