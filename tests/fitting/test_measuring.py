from __future__ import annotations

import pytest

from oreqa.evaluation.metrics import Difference
from oreqa.fitting.measuring import FirstAnswer, is_better, measure_answers, squared_errors
from oreqa.models.fitted import Calibration

CERTAINTY = Calibration({"logit": 1.0}, 0.0, 0.5)


def answer(answerable: bool, right: bool, logit: float | None) -> FirstAnswer:
    return FirstAnswer(answerable, right, None if logit is None else {"logit": logit})


def test_measures() -> None:
    answers = [answer(True, True, 50.0), answer(True, False, 50.0), answer(False, False, -1000.0), answer(True, False, None)]
    measures = measure_answers(answers, [1.0, 0.5, 0.0], CERTAINTY)
    assert (measures.right, measures.mrr) == (33.33, 50.0)
    assert (measures.brier, measures.ece) == (25.0, 25.0)  # the second is wrong with certainty
    assert measures.auc_right == pytest.approx(100 * 2.5 / 3, abs=0.01)
    assert measures.auc_answerable == pytest.approx(100 * 2.5 / 3, abs=0.01)
    assert (measures.decided, measures.answered, measures.refused) == (50.0, 66.67, 100.0)
    assert [row.share for row in measures.bins] == [0.5, 0.5]
    plain = measure_answers(answers, [1.0, 0.5, 0.0], None)
    assert plain.constant_brier == measures.constant_brier == 18.75  # a quarter is right
    assert (plain.right, plain.brier, plain.bins) == (33.33, None, ())


@pytest.mark.parametrize("right", [True, False])
def test_measures_of_one_kind_alone(right: bool) -> None:
    measures = measure_answers([answer(True, right, 1.0)], [], CERTAINTY)
    assert (measures.auc_right, measures.auc_answerable, measures.refused, measures.mrr) == (None, None, None, 0.0)
    assert measures.right == 100 * right


def test_errors_and_gains() -> None:
    answers = [answer(True, True, 50.0), answer(True, False, None)]
    assert squared_errors(answers, CERTAINTY) == pytest.approx([0, 0])
    assert squared_errors([*answers, *answers[1:] * 2], None) == pytest.approx(
        [0.5625, 0.0625, 0.0625, 0.0625]
    )  # 1 of 4 right
    likely, chance = Difference(0.1, 0, 0.2, 0.01), Difference(0.1, -0.1, 0.3, 0.4)
    assert [is_better(gain, before) for gain in (likely, chance) for before in (True, False)] == [True, True, False, True]
    assert not is_better(Difference(0.0, 0, 0, 1.0), False)
