from __future__ import annotations

import pytest
from growth import growth
from hypothesis import given
from hypothesis import strategies as st

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.generation.prose import MIN_WORDS, is_askable, is_prose, prose_ranges


@pytest.mark.parametrize(
    "sentence",
    [
        "The archive is kept for 30 days.",
        "- The absolute position of a chunk: it may move, and is still found.",
        "2. In 1987 the harbour was closed to ships.",
        "“It never was,” she said.",
        "Pass --dry-run to see what the command would remove without removing it.",
        "Is the élan vital of Bergson a force?",
    ],
)
def test_sentences_are_prose(sentence: str) -> None:
    assert is_prose(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "   ",
        "-",
        "Introduction\n============",
        "It rains.",
        '- fix authenticated mode repo to show "Encrypted: No", #6462',
        "borg [common options] info [options] [REPOSITORY_OR_ARCHIVE]",
        "{ b'version': 1, b'timestamp': '2017-07-05T16:01:08' }",
        "Debian 7 32bit, Debian 8 64bit, Ubuntu 14.04, FreeBSD 10.2.",
        "# same, but use 6 cpus\nVMCPUS=6 XDISTN=12 vagrant up OS.",
        "-c SECONDS, --checkpoint-interval SECONDS | write a checkpoint every SECONDS seconds (Default: 1800)",
    ],
)
def test_headings_code_and_lists_are_not(sentence: str) -> None:
    assert not is_prose(sentence)


def passage(text: str) -> Passage:
    return paragraph_passage(Document("a", "", text))


def test_ranges_are_of_the_passage() -> None:
    prose = "The archive is kept for 30 days. "
    mixed = passage(f"Usage:\n\n{prose}\n\n--keep 30 | days\n\n{prose}")
    ranges = prose_ranges(mixed)
    assert [mixed.text[start:end] for start, end in ranges] == [prose.strip()] * 2


def test_askable_passages_are_long_and_hold_prose() -> None:
    assert is_askable(passage("The archive is kept for 30 days. " * 4))
    assert not is_askable(passage("The archive is kept for 30 days."))
    assert not is_askable(passage("- fix the archive, #12\n" * MIN_WORDS))


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    assert is_prose(text) in (True, False)


def test_a_price_is_no_code() -> None:
    assert is_prose("The entrance fee is $25 for all adults.")


@pytest.mark.parametrize("end", [".", "x"])
@pytest.mark.parametrize("unit", ["a ", "- ", "A. ", ". ", "the ", "“", "\n---", "(a) ", ") "])
def test_time_is_linear(unit: str, end: str) -> None:
    assert growth(is_prose, lambda size: "The " + unit * size + end, 20_000) < 10
