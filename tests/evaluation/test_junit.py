from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from oreqa.errors import InputError
from oreqa.evaluation.junit import need_junit_file, write_junit
from oreqa.evaluation.outcomes import AskedQuestion, RegressionReport

SCHEMA = etree.XMLSchema(etree.parse(str(Path(__file__).parents[1] / "support" / "junit.xsd")))


def report(*questions: AskedQuestion, saved: bool = False, minimum: float | None = None) -> RegressionReport:
    return RegressionReport(questions, "b.jsonl", False, saved, 0, minimum, 1.5)


def test_each_question_is_a_case_and_what_fails_the_test_a_failure(tmp_path: Path) -> None:
    hostile = 'Is "a<b" & c\x00\x1b[31m\ud800\ufffe?\nTruly'
    questions = (
        AskedQuestion("1", "How long?", ("2 years",), "right", "2 years", "a.md:3", 0.9, "right", "2 years"),
        AskedQuestion("2", hostile, ("x\x01", "]]>"), "wrong", "<y>\x02", "b.md:4", 0.8, "right", "x"),
        AskedQuestion("3", "Who?", ("Ada",), "refused", "", "", None, None, ""),
        AskedQuestion("4", "Why?", (), "rightly refused", "", "", None, None, ""),
        AskedQuestion("5", "Where?", (), "wrong", "Lyon", "c.md:1", 0.7, None, ""),
    )
    write_junit(tmp_path / "r.xml", "own.questions.csv", report(*questions))
    tree = etree.parse(str(tmp_path / "r.xml"))
    SCHEMA.assertValid(tree)
    [suite] = tree.getroot()
    assert [suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")] == [
        "own.questions.csv", "5", "1", "0", "2"
    ]  # fmt: skip
    assert [case.get("name") for case in suite][:2] == ["How long?", 'Is "a<b" & c[31m? Truly']
    assert [[(outcome.tag, outcome.get("type")) for outcome in case] for case in suite] == [
        [], [("failure", "wrong")], [("skipped", "refused")], [], [("skipped", "wrong")]
    ]  # fmt: skip
    failures = [case[0] if len(case) else None for case in suite]
    assert failures[1].get("message") == "answered <y>, expected x | ]]> (right before)"
    assert failures[1].text.splitlines()[2:] == [
        "expected: x | ]]>",
        "given:    <y>",
        "place:    b.md:4",
        "before:   right: x",
    ]
    assert [failures[n].get("message") for n in (2, 4)] == ["refused, expected Ada", "answered Lyon, expected no answer"]


@pytest.mark.parametrize(
    ("saved", "minimum", "failures"), [(False, None, "1"), (True, None, "0"), (False, 0.5, "0"), (False, 0.9, "2")]
)
def test_a_test_that_is_passed_has_no_failure(tmp_path: Path, saved: bool, minimum: float | None, failures: str) -> None:
    right = AskedQuestion("1", "Who?", ("Ada",), "right", "Ada", "", 0.9, "right", "Ada")
    worse = AskedQuestion("2", "When?", ("1843",), "wrong", "1852", "", 0.9, "right", "1843")
    refused = AskedQuestion("3", "Why?", ("Rent",), "refused", "", "", None, "refused", "")
    new = AskedQuestion("4", "Where?", ("Nice",), "right", "Nice", "", 0.8, None, "")
    written = report(right, worse, refused, new, saved=saved, minimum=minimum)
    write_junit(tmp_path / "r.xml", "q", written)
    [suite] = etree.parse(str(tmp_path / "r.xml")).getroot()
    assert (suite.get("failures"), suite.get("skipped")) == (failures, str(2 - int(failures)))
    assert (failures == "0") is written.passed


def test_only_a_junit_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "r.xml"
    need_junit_file(file)
    write_junit(file, "q", report(AskedQuestion("1", "Who?", ("Ada",), "right", "Ada", "", 0.9, None, "")))
    need_junit_file(file)
    file.write_text("<book/>")
    with pytest.raises(InputError, match="it exists and is no JUnit file; name another file"):
        need_junit_file(file)
    with pytest.raises(InputError, match="cannot be written there"):
        need_junit_file(tmp_path)
