from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oreqa.errors import InputError
from oreqa.index.dense import Dense, build_faiss, check_factory

IDS = np.arange(500, dtype=np.int64) * 3 + 10


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(500, 16)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def built(factory: str, vectors: np.ndarray, path: Path) -> Dense:
    blocks = ((IDS[i : i + 100], vectors[i : i + 100]) for i in range(0, 500, 100))
    build_faiss(factory, 16, 500, blocks, path)
    return Dense(path)


@pytest.mark.parametrize("factory", ["Flat", "SQfp16", "IVF8,Flat", "IVF100,Flat", "HNSW16"])
def test_finds_the_nearest_and_gives_vectors_back(factory: str, vectors: np.ndarray, tmp_path: Path) -> None:
    dense = built(factory, vectors, tmp_path / "f")
    exact = IDS[np.argsort(-(vectors[:50] @ vectors.T), axis=1)[:, :5]]
    found = dense.search(vectors[:50], 5)
    assert np.mean([len(set(a) & set(b)) for a, b in zip(found, exact, strict=True)]) / 5 > 0.97
    np.testing.assert_allclose(dense.vectors(IDS[[3, 499]]), vectors[[3, 499]], atol=1e-3)
    assert (dense.exact is not None) == (factory == "Flat")


@pytest.mark.parametrize("factory", ["Flat", "IVF8,Flat", "HNSW16"])
def test_only_allowed_ids(factory: str, vectors: np.ndarray, tmp_path: Path) -> None:
    dense = built(factory, vectors, tmp_path / "f")
    allowed = IDS[:7]
    found = dense.search(vectors[:3], 10, allowed)
    assert set(found.ravel()) <= {*allowed, -1}
    assert (found[:, 0] >= 0).all()


def test_wrong_factory() -> None:
    check_factory("IVF100,Flat", 16)
    with pytest.raises(InputError, match="'Flatt' is not a FAISS index description"):
        check_factory("Flatt", 16)
