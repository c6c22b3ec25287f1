from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oreqa.index import bits
from oreqa.index.bits import bits_of, differences, fewest, mapped_bits, searched_by_bits
from oreqa.index.codes import code_type, quantise


@pytest.mark.parametrize("dim", [1, 5, 64, 100, 384])
def test_differences_are_those_of_an_obvious_version(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "_BLOCK", 32)
    rng = np.random.default_rng(dim)
    codes, question = quantise(rng.normal(size=(70, dim)).astype(np.float32)), rng.normal(size=dim).astype(np.float32)
    codes["codes"][3] = 0
    expected = ((codes["codes"] > 0) != (question > 0)).sum(axis=1)
    assert differences(question, bits_of(codes)).tolist() == expected.tolist()
    assert differences(question, bits_of(codes[:0])).tolist() == []


def test_bits_depend_on_their_vector_alone() -> None:
    codes = quantise(np.random.default_rng(0).normal(size=(9, 100)).astype(np.float32))
    alone = [bits_of(codes[row : row + 1]) for row in range(len(codes))]
    np.testing.assert_array_equal(bits_of(codes), np.concatenate(alone, axis=1))


def test_equal_counts_are_taken_together() -> None:
    counts = np.array([3, 1, 2, 2, 5, 2], np.uint16)
    assert [fewest(counts, number).tolist() for number in (1, 2, 4, 6, 9)] == [
        [1], [1, 2, 3, 5], [1, 2, 3, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]
    ]  # fmt: skip


def test_mapped_bits_are_those_of_the_codes(tmp_path: Path) -> None:
    codes = quantise(np.random.default_rng(0).normal(size=(9, 100)).astype(np.float32))
    np.save(tmp_path / "b.npy", bits_of(codes))
    np.testing.assert_array_equal(mapped_bits(tmp_path / "b.npy", codes), bits_of(codes))
    with pytest.raises(ValueError, match="the bits of 8 vectors"):
        mapped_bits(tmp_path / "b.npy", codes[:8])


def test_few_and_narrow_vectors_are_compared_whole() -> None:
    assert [searched_by_bits(np.zeros(count, code_type(dim))) for count, dim in ((20_000, 384), (19_999, 384), (20_000, 128))] == [
        True, False, False
    ]  # fmt: skip
