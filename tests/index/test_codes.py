from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oreqa.index import codes
from oreqa.index.codes import inner_products, mapped_codes, quantise, stored_codes, vectors_of


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(700, 24)).astype(np.float32)
    x[3] = 0
    x[4] *= 1e-6
    x[5] *= 1e6
    x[:, 7] += 3  # one number is much larger than the others, as in some encoders
    return x


def test_a_number_moves_by_half_of_its_vectors_scale(vectors: np.ndarray) -> None:
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    assert (np.abs(vectors_of(quantise(vectors)) - vectors) <= largest / 254 * 1.001).all()


def test_a_code_depends_on_its_vector_alone(vectors: np.ndarray) -> None:
    alone = [quantise(vectors[row : row + 1])[0] for row in range(len(vectors))]
    assert quantise(vectors).tobytes() == b"".join(row.tobytes() for row in alone)
    assert quantise(vectors_of(quantise(vectors)))["codes"].tolist() == quantise(vectors)["codes"].tolist()


@pytest.mark.parametrize("questions", [1, 3])
def test_products_are_those_of_an_obvious_version(
    vectors: np.ndarray, questions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_LARGE_BLOCK", 300)
    question_vectors = np.random.default_rng(1).normal(size=(questions, 24)).astype(np.float32)
    rows = quantise(vectors)
    np.testing.assert_allclose(
        inner_products(question_vectors, rows), question_vectors @ vectors_of(rows).T, rtol=1e-4, atol=1e-4
    )
    assert inner_products(question_vectors, rows[:0]).shape == (questions, 0)


def test_codes_come_back_from_their_bytes(vectors: np.ndarray) -> None:
    rows = quantise(vectors[:6])
    assert rows.itemsize == 24 + 4
    assert (stored_codes(rows.tobytes(), 6) == rows).all()


def test_mapped_codes_are_as_many_as_the_texts(vectors: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", quantise(vectors))
    assert (mapped_codes(tmp_path / "v.npy", 700) == quantise(vectors)).all()
    with pytest.raises(ValueError, match="700 vectors for 699 texts"):
        mapped_codes(tmp_path / "v.npy", 699)
