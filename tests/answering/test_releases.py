"""The latest release of a change log."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.answering.releases import asks_for_latest, latest_release
from oreqa.core import Passage
from oreqa.corpus.formats.markdown import read_markdown
from oreqa.corpus.splitter import split_passages

LOG = """# Changes of Muninn

## 4.9.3 (2025-12-01)

Fixes the export.

## 4.10.0 (2026-03-11)

Adds dark mode.

## 4.10.1-rc1

Tries a mend.
"""


def passages(log: str = LOG, path: str = "muninn/CHANGELOG.md") -> list[Passage]:
    document = read_markdown(log.encode(), Path(path))
    return split_passages(document, lambda texts: [len(text.split()) for text in texts], 100)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the latest version of Muninn?", "4.10.0"),
        ("Which release of Muninn is the most recent?", "4.10.0"),
        ("When was the newest version of muninn released?", "2026-03-11"),
        ("What is the latest version?", "4.10.0"),
    ],
)
def test_the_highest_version_answers(question: str, answer: str) -> None:
    read = passages()
    latest = latest_release(question, read)
    assert asks_for_latest(question)
    assert latest is not None
    text = "\n\n".join(passage.text for passage in read)
    assert latest.text == answer == text[latest.start : latest.end]
    assert latest.sentence.text == "4.10.0 (2026-03-11)"
    assert latest.computation is not None
    assert latest.computation.basis == "3 headings of a change log"


def test_a_question_about_something_else_is_not_answered() -> None:
    assert latest_release("What is the latest version of Hugin?", passages()) is None
    assert latest_release("What is the latest version of Muninn with dark mode?", passages()) is None
    assert latest_release("When was the latest version released?", passages(LOG.replace(" (2026-03-11)", ""))) is None
    assert latest_release("What is the latest version?", passages("# Plan\n\n## 4.1.0\n\nText.\n\n## Rest\n\nText.")) is None
    assert latest_release("What was the version of Muninn before the latest?", passages()) is None
    assert not asks_for_latest("What is the latest news about the fair?")
    assert not asks_for_latest("Which version adds dark mode?")
