"""Search files that take over what did not change are those that are built from nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.index import publish
from oreqa.index.generations import generation_folder, newest_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.memo import ENCODINGS
from oreqa.index.search import Index
from oreqa.index.store import Settings

DOCUMENTS = [Document(f"{n}", f"Title {n}", f"Owl {n} hoots. It eats word{n % 3}.") for n in range(9)]


def search_files(folder: Path) -> dict[str, bytes]:
    """The newest generation's arrays."""
    generation = newest_generation(folder)
    assert generation is not None
    return {path.name: path.read_bytes() for path in sorted(generation.glob("*.npy"))}


def built_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """The same, with everything read from the memo: a damaged generation is built anew."""
    generation = newest_generation(folder)
    assert generation is not None
    damaged = generation / "sentences.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with monkeypatch.context() as patched:
        patched.setattr(publish, "_kept_of", None)
        index_documents(folder, [])
    assert newest_generation(folder) != generation
    return search_files(folder)


def test_an_update_takes_over_what_did_not_change(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, settings = tmp_path / "kb", Settings(str(tiny), passage_tokens=200)
    index_documents(folder, DOCUMENTS, settings)
    read: list[int] = []
    encodings_read = publish.Encodings.read

    def counting(self: publish.Encodings, digests: list[bytes]) -> object:
        read.append(len(digests))
        return encodings_read(self, digests)

    monkeypatch.setattr(publish.Encodings, "read", counting)
    changes = [
        ([Document("3", "Title 3", "Owl 3 sleeps. A bird.")], False, 1),  # replaced
        ([Document("new", "New", "A hawk.")], False, 1),  # added
        (
            [document for document in DOCUMENTS if document.key not in "08"],
            True,
            1,
        ),  # the first and the last but one removed
        ([Document("new", "New", "A hawk.")], False, 1),
    ]
    for documents, prune, new in changes:
        read.clear()
        index_documents(folder, documents, prune=prune)
        assert read == [new]
        assert search_files(folder) == built_anew(folder, monkeypatch)


def test_a_memo_that_was_made_anew_numbers_its_words_anew(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kb"
    index_documents(folder, DOCUMENTS, Settings(str(tiny), passage_tokens=200))
    for file in folder.glob(f"{ENCODINGS}*"):
        file.unlink()
    index_documents(folder, [Document("first", "First", "Hawks and kites come first.")])
    assert search_files(folder) == built_anew(folder, monkeypatch)
    with Index.open(folder) as index:
        assert index.search("kites", 1, mode="sparse")[0].passage.document_key == "first"
        assert index.search("word2", 9, mode="sparse")
    assert generation_folder(folder, 2).is_dir()
