"""A regression test as JUnit XML, which CI servers read: one test case per question."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from oreqa.errors import InputError
from oreqa.evaluation.outcomes import AskedQuestion, RegressionReport
from oreqa.files import need_writable, write_bytes

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters not allowed in XML 1.0, even escaped."""

_LOOKED_AT = 1000
"""Bytes within which a file identifies itself as JUnit."""


def need_junit_file(path: Path) -> None:
    """Raise InputError if a file cannot be written, or exists with other content."""
    need_writable(path, str(path))
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if b"<testsuite" not in file.read(_LOOKED_AT):
                raise InputError(f"{path}: it exists and is no JUnit file; name another file")


def write_junit(path: Path, name: str, report: RegressionReport) -> None:
    """Write a test suite with this ``name``: a case per question, failed if it fails, skipped if otherwise not right.

    Characters not allowed in XML are dropped. The time of each case is the mean, as they are answered together.
    """
    number, failures = len(report.questions), report.failures
    totals = {
        "tests": str(number),
        "failures": str(len(failures)),
        "errors": "0",
        "skipped": str(number - report.passing - len(failures)),
        "time": f"{report.seconds:.3f}",
    }
    root = ElementTree.Element("testsuites", {"name": "oreqa test", **{k: v for k, v in totals.items() if k != "skipped"}})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(name), **totals})
    for question in report.questions:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": _plain(name.partition(".")[0]) or "questions",
                "name": _plain(" ".join(question.question.split())),
                "time": f"{report.seconds / number:.3f}",
            },
        )
        if not question.passes:
            kind = "failure" if question in failures else "skipped"
            element = ElementTree.SubElement(case, kind, {"type": question.outcome, "message": _plain(_message(question))})
            element.text = _plain("\n".join(_lines(question)))
    ElementTree.indent(root)
    write_bytes(path, ElementTree.tostring(root, "utf-8", xml_declaration=True) + b"\n")


def _message(question: AskedQuestion) -> str:
    before = f" ({question.before} before)" if question.is_worse else ""
    expected = " | ".join(question.expected) or "no answer"
    if question.outcome == "refused":
        return f"refused, expected {expected}{before}"
    return f"answered {' '.join(question.answer.split())}, expected {expected}{before}"


def _lines(question: AskedQuestion) -> list[str]:
    answer = "guess" if question.outcome == "refused" else "given"
    rows = {
        "question": question.question,
        "expected": " | ".join(question.expected) or "no answer",
        answer: question.answer,
        "place": question.place,
        "before": f"{question.before}: {question.answer_before}" if question.before else "",
    }
    return [f"{name + ':':10}{value}" for name, value in rows.items() if value]


def _plain(text: str) -> str:
    return _NOT_XML.sub("", text)
