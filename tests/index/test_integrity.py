"""A large index is compared with its checksums where damage was found before, and where an update reads what it writes anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from index_content import assert_same

from oreqa.core import Document
from oreqa.errors import IndexStateError
from oreqa.index import generations, integrity, segments
from oreqa.index.generations import DAMAGED, require_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.integrity import check_index
from oreqa.index.store import Settings

DOCUMENTS = [Document(f"{n}", "", f"Owl {n} hoots. It sleeps.") for n in range(9)]


@pytest.fixture
def folder(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index that counts as a large one, of large files."""
    index_documents(tmp_path / "kb", DOCUMENTS, Settings(str(tiny)))
    monkeypatch.setattr(integrity, "QUICK", 0)
    monkeypatch.setattr(generations, "_SMALL", 0)
    return tmp_path / "kb"


def damage(folder: Path) -> None:
    (vectors,) = require_generation(folder).glob("segment-000000000001/sentences.npy")
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"?")


def test_an_update_mends_what_a_check_has_found(tmp_path: Path, tiny: Path, folder: Path) -> None:
    damage(folder)
    assert index_documents(folder, Document("new", "", "Larks sing.")).rebuilt == []
    (line,) = check_index(folder)
    assert "sentences.npy" in line
    assert (require_generation(folder) / DAMAGED).is_file()
    assert index_documents(folder, Document("new", "", "Larks fly.")).rebuilt == ["segment-000000000001/sentences.npy"]
    assert check_index(folder) == []
    assert not (require_generation(folder) / DAMAGED).exists()
    index_documents(tmp_path / "clean", [*DOCUMENTS, Document("new", "", "Larks fly.")], Settings(str(tiny)))
    assert_same(folder, tmp_path / "clean")


def test_a_damaged_segment_is_not_merged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "RATIO", 2)
    damage(folder)
    with pytest.raises(
        IndexStateError, match=r"sentences\.npy: this file of the index is missing or damaged; rebuild it with"
    ):
        index_documents(folder, Document("new", "", "Larks sing."))
    assert index_documents(folder, Document("new", "", "Larks sing.")).rebuilt
    assert check_index(folder) == []


def test_intact_files_are_not_read_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    compute = generations._sha256
    monkeypatch.setattr(generations, "_sha256", lambda path: hashed.append(path.name) or compute(path))
    index_documents(folder, Document("new", "", "Larks sing."))
    assert "sentences.npy" in hashed  # the new segment's
    assert len([name for name in hashed if name == "sentences.npy"]) == 1
