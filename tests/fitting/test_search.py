from __future__ import annotations

import numpy as np
import pytest

import oreqa.fitting.search as search
from oreqa.core import UNITS
from oreqa.fitting.fusion import Pool
from oreqa.fitting.search import FOLDS, NAMES, Fusion, cross_validated, fitted_weights, ranks_by_unit

PLAIN = np.full(len(NAMES), 0.25)
EVEN: Fusion = {unit: dict.fromkeys(NAMES, 0.25) for unit in UNITS}


def question(number: int, useful: float) -> Pool:
    """Ten candidates of a question, the gold one of which has a higher first score, as far as this one is ``useful``; the
    others are noise."""
    rng = np.random.default_rng([number, 1])
    x = rng.normal(size=(10, len(NAMES))).astype(np.float32)
    x[0, 0] += useful
    gold = np.arange(10) == 0
    return Pool(x, gold, np.full(10, number), np.arange(10))


@pytest.mark.parametrize(("useful", "is_certain"), [(2.0, True), (0.0, False)])
def test_weights_are_worth_what_they_give_on_other_questions(useful: float, is_certain: bool) -> None:
    pools = [question(number, useful) for number in range(60)]
    gain = cross_validated(pools, list(range(60)), EVEN, PLAIN, 0)
    assert (gain.mean > 0 and gain.p < 0.05) is is_certain
    fitted = ranks_by_unit(pools, range(60), fitted_weights(pools, PLAIN))
    even = ranks_by_unit(pools, range(60), EVEN)
    assert np.mean(fitted["passage"]) > np.mean(even["passage"])  # on those that they were fitted on


def test_no_question_is_ranked_by_weights_that_its_document_was_fitted_with(monkeypatch: pytest.MonkeyPatch) -> None:
    pools, groups = [question(number, 1.0) for number in range(20)], [f"document {number % 7}" for number in range(20)]
    ranked: list[int] = []

    def fit(fitted_on: list[Pool], plain: np.ndarray) -> Fusion:
        fitted = {groups[int(pool.question[0])] for pool in fitted_on}
        left_out = [number for number, group in enumerate(groups) if group not in fitted]
        assert left_out
        ranked.extend(left_out)
        return EVEN

    monkeypatch.setattr(search, "fitted_weights", fit)
    gain = cross_validated(pools, groups, EVEN, PLAIN, 0)
    assert sorted(ranked) == list(range(20))
    assert (gain.mean, gain.p) == (0.0, 1.0)


def test_some_of_many_questions_are_ranked_by_their_own_pools() -> None:
    pools = [question(number, 1.0) for number in range(12)]
    every = ranks_by_unit(pools, range(12), EVEN)["sentence"]
    assert ranks_by_unit(pools[4:], [3, 0], EVEN)["sentence"] == [every[7], every[4]]


def test_few_documents_make_few_parts() -> None:
    pools = [question(number, 2.0) for number in range(12)]
    assert cross_validated(pools, [number % 2 for number in range(12)], EVEN, PLAIN, 0).mean != 0
    assert FOLDS > 2
