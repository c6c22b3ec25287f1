"""A copy of an index is that index, wherever its vectors and words lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny_models import make_model

from oreqa.core import UNITS, Document
from oreqa.datasets.marks import Mark, question_id, read_marks, set_mark
from oreqa.errors import IndexStateError, InputError
from oreqa.index.change_encoder import change_encoder, publish_fitted
from oreqa.index.copying import copy_index
from oreqa.index.fitted import IndexFitted
from oreqa.index.generations import newest_generation, read_manifest, require_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.integrity import check_index
from oreqa.index.removal import remove_documents
from oreqa.index.search import Index

DOCUMENTS = [Document(f"d{n}", f"Title {n}", f"The fox number {n} slept. It rained on day {n}.") for n in range(9)]


@pytest.fixture
def kb(tiny: Path, tmp_path: Path) -> Path:
    """With a mark, something fitted, and a segment that has lost a passage."""
    kb = tmp_path / "kb"
    index_documents(kb, DOCUMENTS, model=tiny)
    remove_documents(kb, "d4")
    fingerprint = Index.open(kb).fingerprint
    publish_fitted(
        kb, lambda _: IndexFitted(fingerprint, {unit: {"sentence_cosine": 0.25, "passage_bm25": 0.5} for unit in UNITS})
    )
    set_mark(kb, Mark(question_id("Who?"), "Who?", ("the fox",), "right", "2026-01-01T00:00:00Z"))
    return kb


def hits(folder: Path) -> list[tuple[str, int, float]]:
    with Index.open(folder) as index:
        every = index.search("Which fox slept on day 3?", 40)
        return [(hit.passage.document_key, hit.sentence.start, round(hit.score, 5)) for hit in every]


def assert_copied(copy: Path, kb: Path) -> None:
    assert hits(copy) == hits(kb)
    assert check_index(copy) == []
    with Index.open(copy) as ours, Index.open(kb) as theirs:
        assert ours.weights() == theirs.weights()
        assert ours.content_fingerprint == theirs.content_fingerprint
        assert list(ours.passages()) == list(theirs.passages())
    assert read_marks(copy) == read_marks(kb)


def test_a_copy_shares_its_files_and_goes_its_own_way(kb: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    assert copy_index(kb, copy) == 8
    assert_copied(copy, kb)
    copied, original = require_generation(copy), require_generation(kb)
    assert all((copied / name).samefile(original / name) for name in read_manifest(original))
    index_documents(copy, "A new fox.")
    shutil.rmtree(kb)
    assert len(hits(copy)) == 17
    assert check_index(copy) == []


def test_a_model_in_the_folder_goes_along(kb: Path, tmp_path: Path) -> None:
    make_model(kb / "adapted/retriever", seed=3)
    change_encoder(kb, "adapted/retriever")
    expected = hits(kb)
    copy_index(kb, tmp_path / "copy")
    shutil.rmtree(kb)
    assert hits(tmp_path / "copy") == expected


def test_what_cannot_be_copied(kb: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="there is no index here"):
        copy_index(tmp_path / "nothing", tmp_path / "copy")
    with pytest.raises(InputError, match=r"it holds 'marks.jsonl', which is not an index; use a new or empty folder"):
        copy_index(tmp_path / "kb", kb)
    with pytest.raises(InputError, match="an engine is milvus:"):
        copy_index(kb, tmp_path / "copy", "faiss")
    name = next(name for name in read_manifest(require_generation(kb)) if name.endswith("passages.npy"))
    (require_generation(kb) / name).write_bytes(b"damaged")
    with pytest.raises(IndexStateError, match=r"passages.npy: this file of the index is missing or damaged"):
        copy_index(kb, tmp_path / "copy")
    assert newest_generation(tmp_path / "copy") is None


@pytest.mark.system
def test_there_and_back(kb: Path, tmp_path: Path, milvus: str) -> None:
    engine = f"milvus:{milvus}"
    places = [kb, tmp_path / "served", tmp_path / "moved", tmp_path / "back"]
    for folder, copy, where in zip(places, places[1:], (engine, engine, None), strict=False):
        assert copy_index(folder, copy, where) == 8
        assert_copied(copy, kb)
    assert Index.open(places[2]).settings.engine == engine
    index_documents(places[3], "A new fox.")
    index_documents(places[2], "A new fox.")
    assert hits(places[3]) == hits(places[2])
    assert len(hits(kb)) == 16
