from __future__ import annotations

import pytest

from oreqa.evaluation.outcomes import AskedQuestion, Outcome, RegressionReport, changes


def asked(outcome: Outcome, before: Outcome | None, answer: str = "a", answer_before: str = "a") -> AskedQuestion:
    return AskedQuestion("1", "Who?", ("a",), outcome, answer, "", None, before, answer_before)


@pytest.mark.parametrize(
    ("question", "group"),
    [
        (asked("wrong", "right"), "worse"),
        (asked("refused", "right"), "worse"),
        (asked("wrong", "rightly refused"), "worse"),
        (asked("right", "wrong"), "better"),
        (asked("rightly refused", "wrong"), "better"),
        (asked("wrong", None), "new"),
        (asked("refused", "wrong"), "otherwise"),
        (asked("wrong", "wrong", "b"), "otherwise"),
        (asked("wrong", "wrong"), None),
        (asked("refused", "refused", "another guess", ""), None),
        (asked("right", None), None),
        (asked("right", "right", "b"), None),
    ],
)
def test_what_changed_is_grouped(question: AskedQuestion, group: str | None) -> None:
    assert [name for name, questions in changes([question]).items() if questions] == ([group] if group else [])


def test_a_test_is_passed_if_nothing_is_worse_or_the_minimum_is_reached() -> None:
    def passed(*questions: AskedQuestion, minimum: float | None = None, is_saved: bool = False) -> bool:
        return RegressionReport(questions, "", False, is_saved, 0, minimum, 0).passed

    worse, right = asked("wrong", "right"), asked("right", "right")
    assert passed(right, asked("wrong", None), asked("wrong", "refused"))
    assert not passed(right, worse)
    assert passed(right, worse, is_saved=True)
    assert passed(right, worse, minimum=0.5)
    assert not passed(right, worse, minimum=0.51)
    assert not passed(right, worse, minimum=0.51, is_saved=True)
    assert passed(*[right] * 7, *[worse] * 3, minimum=0.7)
