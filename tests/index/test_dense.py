from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from oreqa.errors import InputError
from oreqa.index.codes import quantise
from oreqa.index.dense import CodedVectors, FaissVectors, build_faiss, check_factory, fitted_factory

FULL = Path("/dev/full")

IDS = np.arange(500, dtype=np.int64) * 3 + 10


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def built(factory: str, vectors: np.ndarray, path: Path) -> FaissVectors:
    blocks = ((IDS[i : i + 100], vectors[i : i + 100]) for i in range(0, 500, 100))
    build_faiss(factory, 16, blocks, path)
    return FaissVectors(path)


@pytest.mark.parametrize(
    "factory", ["SQfp16", "SQ8", "IVF8,Flat", "IVF12,SQfp16", "IVF3,SQ8", "HNSW2", "HNSW16", "HNSW16,SQ8", "HNSW8,SQfp16"]
)
def test_every_description_that_is_taken_works(factory: str, vectors: np.ndarray, tmp_path: Path) -> None:
    check_factory(factory)
    stored = built(factory, vectors, tmp_path / "f")
    exact = IDS[np.argsort(-(vectors[:50] @ vectors.T), axis=1)[:, :5]]
    near = stored.search(vectors[:50], 5)
    shared = np.mean([len(set(a) & set(b)) for a, b in zip(near, exact, strict=True)]) / 5
    assert shared > (0.5 if factory == "HNSW2" else 0.9)
    np.testing.assert_allclose(stored.vectors(IDS[[3, 499]]), vectors[[3, 499]], atol=2e-2 if "SQ8" in factory else 1e-3)
    allowed = IDS[:7]
    chosen = stored.search(vectors[:3], 10, allowed)
    assert set(chosen.ravel()) <= {*allowed, -1}
    assert (chosen[:, 0] >= 0).all()


def test_codes_are_found_by_their_ids(vectors: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", quantise(vectors))
    stored = CodedVectors(tmp_path / "v.npy", IDS)
    np.testing.assert_allclose(stored.vectors(IDS[[499, 3]]), vectors[[499, 3]], atol=4e-3)
    with pytest.raises(ValueError, match="500 vectors for 499 ids"):
        CodedVectors(tmp_path / "v.npy", IDS[1:])


@pytest.mark.parametrize(
    "factory",
    ["Flatt", "", "flat", "IVF0,Flat", "IVF00,Flat", "HNSW0", "HNSW1", "HNSW9999", "PQ8", "PCA64,Flat", "IDMap,Flat",
     "IVF8", "IVF8,PQ8", "Flat,Flat", "IVF1234567,Flat", "Flat\n"],
)  # fmt: skip
def test_other_descriptions_are_refused(factory: str) -> None:
    with pytest.raises(InputError, match="is not a FAISS index description that works here: use Flat"):
        check_factory(factory)


def test_no_more_cells_than_vectors_can_train() -> None:
    assert fitted_factory("IVF8,SQ8", 8 * 39) == "IVF8,SQ8"
    assert fitted_factory("IVF8,SQ8", 8 * 39 - 1) == "IVF7,SQ8"
    assert fitted_factory("IVF8,Flat", 38) == "Flat"
    assert fitted_factory("HNSW32", 3) == "HNSW32"


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("count", [5, 500])
def test_a_full_disk_is_an_error_also_for_the_end_of_a_file(vectors: np.ndarray, count: int) -> None:
    with pytest.raises(OSError, match="No space left") as raised:
        build_faiss("SQ8", 16, iter([(IDS[:count], vectors[:count])]), FULL)
    assert raised.value.errno == errno.ENOSPC
