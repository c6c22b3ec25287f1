from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from index_content import assert_same_content, content

from oreqa.core import Document, Section
from oreqa.defaults import BATCH_PASSAGES
from oreqa.errors import DocumentError, IndexStateError, InputError
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.progress import part_of

BEES = "Bees dance to tell where flowers are."
TENT = Document("tent", "Tent", "The tent is waterproof.", fields={"kind": "shelter"})


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(str(tiny))


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    index_documents(tmp_path / "kb", [BEES, TENT], settings)
    return tmp_path / "kb"


def keys(folder: Path) -> set[str]:
    with Index.open(folder) as index:
        return {passage.document_key for passage in index.passages()}


def test_texts_documents_and_rows_are_found(folder: Path) -> None:
    row = {"_id": 7, "title": "Boots", "text": "The boots are made of leather.", "kind": "shoe", "price": np.float32(99.5)}
    assert index_documents(folder, row).added == 1
    with Index.open(folder) as index:
        (boots,) = index.search("leather boots", 1)
        assert (boots.passage.document_key, boots.passage.title) == ("7", "Boots")
        assert boots.passage.fields == {"kind": "shoe", "price": "99.5"}
        assert boots.sentence.text == row["text"]
        assert index.search("leather boots", where={"price": 99.5, "kind": ["shoe", "shelter"]}) != []
        assert index.search("anything", where={"path": "tent"})[0].passage.fields == {"kind": "shelter"}
        assert index.search("bees", 1, mode="sparse")[0].sentence.text == BEES


def test_added_again_they_are_the_same(folder: Path) -> None:
    before = keys(folder)
    report = index_documents(str(folder), (source for source in (TENT, BEES, BEES)))
    assert (report.unchanged, report.added, report.changed, report.encoded) == (2, 0, 0, 0)
    report = index_documents(folder, Document("tent", "Tent", "The tent is heavy."))
    assert (report.changed, report.unchanged, report.passages) == (1, 0, 2)
    assert keys(folder) == before
    rows = [{"text": "Owls hoot.", "kind": kind} for kind in ("a", "b", "a")]  # those that say the same are one
    assert index_documents(folder, rows).added == 2
    assert index_documents(folder, rows).unchanged == 2


def test_they_leave_each_other_and_files_alone_unless_pruned(folder: Path, library: Path) -> None:
    assert index_files(folder, library).added == 4
    everything = keys(folder)
    assert len(everything) == 6
    assert index_documents(folder, "Owls hoot.").passages == len(list(Index.open(folder).passages()))
    assert keys(folder) > everything
    report = index_files(folder, library, prune=True)
    assert (report.removed, report.unchanged) == (0, 4)
    report = index_documents(folder, [TENT], prune=True)
    assert (report.removed, report.unchanged) == (2, 1)
    assert keys(folder) == {key for key in everything if not key.startswith("text-")}
    index_documents(folder, [], prune=True)
    (library / "bees.txt").unlink()
    assert index_files(folder, [library], prune=True).removed == 1
    assert len(keys(folder)) == 3


def test_the_order_of_updates_does_not_matter(folder: Path, library: Path, tmp_path: Path, settings: Settings) -> None:
    index_files(folder, library)
    index_files(tmp_path / "new", library, settings)
    index_documents(tmp_path / "new", [TENT, BEES])
    assert_same_content(content(folder), content(tmp_path / "new"))


@pytest.mark.slow
def test_the_name_of_a_file_is_refused_and_a_file_takes_its_name(folder: Path, library: Path) -> None:
    bees, rows = library / "bees.txt", library / "rows.jsonl"
    index_documents(folder, Document(str(bees), "Mine", "Wasps sting."))
    report = index_files(folder, library)
    assert (report.changed, report.added) == (1, 3)
    before = content(folder)
    for key in (str(bees), str(rows), f"{rows}#a"):
        with pytest.raises(DocumentError, match=r"document 2: .* is a file's document: give it another key"):
            index_documents(folder, [TENT, Document(key, "", "Wasps sting.")])
    assert_same_content(content(folder), before)
    index_documents(folder, Document(f"{rows}#c", "", "It stands below a file of that name."))
    assert index_files(folder, library, prune=True).removed == 0
    assert f"{rows}#c" in keys(folder)


def test_what_was_interrupted_is_not_encoded_again(folder: Path) -> None:
    before = content(folder)

    def interrupt(passages: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_documents(folder, [f"Fact number {n}." for n in range(5)], progress=part_of(interrupt))
    assert_same_content(content(folder), before)

    def failing() -> Iterator[str]:
        yield from (f"Owl {n} hoots." for n in range(600))
        raise OSError("the database is gone")

    with pytest.raises(OSError, match=r"^the database is gone$"):
        index_documents(folder, failing())
    assert_same_content(content(folder), before)
    report = index_documents(folder, [f"Owl {n} hoots." for n in range(600)])
    assert (report.added, report.encoded) == (600, 600 % BATCH_PASSAGES)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (7, "document 2 is an int; write a text, a Document or a mapping"),
        (" \n", r"document 2 \(text-[0-9a-f]{16}\): it holds no text"),
        ({}, r"document 2 \(text-[0-9a-f]{16}\): it holds no text"),
        (Document("", "", "x"), "document 2: its key is empty"),
        (Document("k" * 501, "", "x"), "document 2: its key has 501 characters, more than 500"),
        (Document("k", "", None), "document 2: its text is None, not a string"),  # type: ignore[arg-type]
        (Document("k", "", "x y", (Section(0, 9, ""),)), r"document 2 \(k\): its sections do not follow each other"),
        (TENT, "two documents have the key tent: rename one of them"),
    ],
)
def test_what_is_no_document_is_named_and_nothing_is_published(folder: Path, document: object, message: str) -> None:
    before = content(folder)
    with pytest.raises(InputError, match=message):
        index_documents(folder, [TENT, document])  # type: ignore[list-item]
    assert_same_content(content(folder), before)


def test_half_characters_become_marks_and_nothing_of_pandas_is_nothing(folder: Path) -> None:
    row = {"id": "half", "text": "Half \ud800 a character.", "none": float("nan"), "n": np.int64(3), "list": [1, 2]}
    index_documents(folder, row)
    with Index.open(folder) as index:
        (hit,) = index.search("character", where={"path": "half"})
    assert hit.sentence.text == "Half \ufffd a character."
    assert hit.passage.fields == {"n": "3", "list": "[1, 2]"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"documents": None}, "documents are texts, Documents or mappings, or a list of them, not None"),
        ({"folder": 3}, "an index's folder is a path, as a string or a Path, not an int"),
        ({"folder": ""}, "an index's folder is empty"),
        ({"settings": "minilm"}, "settings are Settings.*, not a str; a model is named by model="),
        ({"settings": Settings(), "model": "m"}, "name the model in settings, or by model=, not by both"),
        ({"device": "gpu"}, "there is no device 'gpu'"),
    ],
)
def test_arguments_that_cannot_work(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    (tmp_path / "a.txt").write_text("A text.")
    for call in (index_documents, index_files):
        given = {"folder": tmp_path / "kb", **arguments}
        folder, documents = given.pop("folder"), given.pop("documents", ["x"])
        if call is index_files:
            documents = tmp_path / "a.txt"
        if "documents" not in arguments or call is index_documents:
            with pytest.raises(InputError, match=message):
                call(folder, documents, **given)  # type: ignore[operator]
    assert not (tmp_path / "kb").exists()


def test_the_model_is_named_and_kept(tmp_path: Path, tiny: Path) -> None:
    index_documents(tmp_path / "kb", BEES, model=tiny)
    assert Index.open(tmp_path / "kb").settings == Settings(str(tiny))
    index_documents(tmp_path / "kb", "Owls hoot.")
    with pytest.raises(IndexStateError, match=r"it was built with --model .*, not other"):
        index_documents(tmp_path / "kb", BEES, model="other")
    with pytest.raises(IndexStateError, match="holds documents, not a task's passages"):
        index_passages(tmp_path / "kb", [], Settings(str(tiny)))


class Frame:
    """What oreqa needs of a pandas DataFrame: iterating over one gives the names of its columns."""

    columns = ("id", "text")

    def to_dict(self, orient: str) -> list[dict[str, str]]:
        assert orient == "records"
        return [{"id": "a", "text": "Cats purr."}, {"id": "b", "text": "Dogs bark."}]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


def test_the_rows_of_a_data_frame(tiny: Path, tmp_path: Path) -> None:
    assert index_documents(tmp_path / "kb", Frame(), model=tiny).added == 2  # type: ignore[arg-type]
    (hits,) = Index.open(tmp_path / "kb").search(["dogs"], 1)
    assert (hits[0].passage.document_key, hits[0].passage.text) == ("b", "Dogs bark.")
