from __future__ import annotations

import pytest

from oreqa.evaluation.outcomes import AskedQuestion, Outcome, RegressionReport, changes


def outcome_of(outcome: Outcome, before: Outcome | None, answer: str = "a", answer_before: str = "a") -> AskedQuestion:
    return AskedQuestion("1", "Who?", ("a",), outcome, answer, "", None, before, answer_before)


@pytest.mark.parametrize(
    ("question", "group"),
    [
        (outcome_of("wrong", "right"), "worse"),
        (outcome_of("refused", "right"), "worse"),
        (outcome_of("wrong", "rightly refused"), "worse"),
        (outcome_of("right", "wrong"), "better"),
        (outcome_of("rightly refused", "wrong"), "better"),
        (outcome_of("wrong", None), "new"),
        (outcome_of("refused", "wrong"), "otherwise"),
        (outcome_of("wrong", "wrong", "b"), "otherwise"),
        (outcome_of("wrong", "wrong"), None),
        (outcome_of("refused", "refused", "another guess", ""), None),
        (outcome_of("right", None), None),
        (outcome_of("right", "right", "b"), None),
    ],
)
def test_what_changed_is_grouped(question: AskedQuestion, group: str | None) -> None:
    assert [name for name, questions in changes([question]).items() if questions] == ([group] if group else [])


def test_a_test_is_passed_if_nothing_is_worse_or_the_minimum_is_reached() -> None:
    def passed(*questions: AskedQuestion, minimum: float | None = None, is_saved: bool = False) -> bool:
        return RegressionReport(questions, "", False, is_saved, 0, minimum, 0).passed

    worse, right = outcome_of("wrong", "right"), outcome_of("right", "right")
    assert passed(right, outcome_of("wrong", None), outcome_of("wrong", "refused"))
    assert not passed(right, worse)
    assert passed(right, worse, is_saved=True)
    assert passed(right, worse, minimum=0.5)
    assert not passed(right, worse, minimum=0.51)
    assert not passed(right, worse, minimum=0.51, is_saved=True)
    assert passed(*[right] * 7, *[worse] * 3, minimum=0.7)
