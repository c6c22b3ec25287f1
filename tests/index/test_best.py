"""The best of scores."""

from __future__ import annotations

import numpy as np
import pytest

from oreqa.index.best import best_passages, best_sentences


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_equal_scores_keep_their_order_and_minus_infinity_is_omitted(count: int) -> None:
    scores = np.array([0.5, -np.inf, 2.0, 0.5, 2.0], np.float32)
    assert best_sentences(scores, count).tolist() == [2, 4, 0, 3][:count]


def test_a_passage_is_as_good_as_its_best_sentence() -> None:
    scores, owners = np.array([1.0, 3.0, 2.0, 0.0, 4.0], np.float32), np.array([0, 0, 1, 1, 2])
    assert best_passages(scores, owners, 2) == [4, 1]
    assert best_passages(scores[:0], owners[:0], 2) == []
