from __future__ import annotations

import pytest
from growth import growth
from hypothesis import given
from hypothesis import strategies as st

from oreqa.text.sentences import is_prose, split_sentences


def texts(text: str) -> list[str]:
    return [text[a:b] for a, b in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("One.", ["One."]),
        ("No mark at all", ["No mark at all"]),
        ("Dr. Smith left. He slept.", ["Dr. Smith left.", "He slept."]),
        ("It cost 3.5 million. Why? Ask!", ["It cost 3.5 million.", "Why?", "Ask!"]),
        ("Héllo “wörld”. 😀 Yes!", ["Héllo “wörld”.", "😀 Yes!"]),
        ("Buy:\n- bread\n- milk\n1. eggs", ["Buy:", "- bread", "- milk", "1. eggs"]),
        ("| a | b |\n| --- | --- |\n| c | d |\nAfter.", ["| a | b |", "| c | d |", "After."]),
        ("...", ["..."]),
        ("Open\nMonday 9 to 17\n Friday 9 to 20\n\nCome in.", ["Open", "Monday 9 to 17", "Friday 9 to 20", "Come in."]),
        ("Port: 22\nProtocol: 2\nBanner: none. See below.", ["Port: 22", "Protocol: 2", "Banner: none.", "See below."]),
        ("number | price\nA-8 | 74.90\nNot a row", ["number | price", "A-8 | 74.90", "Not a row"]),
        ("Two lines\nAre no list", ["Two lines\nAre no list"]),
        ("One goes\non here\nAnd here", ["One goes\non here\nAnd here"]),
    ],
)
def test_splits(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@given(st.text())
def test_offsets_are_in_order_and_trimmed(text: str) -> None:
    end = 0
    for a, b in split_sentences(text):
        assert end <= a < b <= len(text)
        assert text[a:b] == text[a:b].strip()
        end = b


@given(st.text(alphabet=st.characters(categories=["L", "Nd"], include_characters=" .!?\n"), max_size=300))
def test_no_letter_is_lost(text: str) -> None:
    kept = "".join(texts(text))
    assert [c for c in kept if c.isalnum()] == [c for c in text if c.isalnum()]


def test_long_text_is_split_as_short_text_is() -> None:
    sentence = "The octopus, wrote Dr. Smith in 1987, has three hearts. "
    assert texts(sentence * 500) == [sentence.strip()] * 500


def test_an_endless_sentence_is_cut_between_words() -> None:
    pieces = texts("word " * 5000)
    assert len(pieces) > 1
    assert set(" ".join(pieces).split()) == {"word"}
    assert [c for piece in texts("x" * 20_000) for c in piece] == ["x"] * 20_000


@pytest.mark.parametrize("space", ["\xa0", "\x85", "\u2003", "\u202f"])
def test_white_space_of_several_bytes_before_a_full_stop(space: str, capfd: pytest.CaptureFixture[str]) -> None:
    text = f"Choose plan A{space}. Then the{space}second one follows."
    assert [text[a:b] for a, b in split_sentences(text)] == [f"Choose plan A{space}.", f"Then the{space}second one follows."]
    for initial in ("I", "é", "z.B\n"):
        assert split_sentences(f"Ask {initial}{space} . They know.")
    assert capfd.readouterr().err == ""  # of a panic, too


def test_section_numbers_belong_to_their_headings() -> None:
    text = "8.1. Does it run on Solaris?\n8.2. Does it run on Windows?\n8.2.1. Which one?"
    assert [text[start:end] for start, end in split_sentences(text)] == text.split("\n")


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


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    assert is_prose(text) in (True, False)


def test_a_price_is_no_code() -> None:
    assert is_prose("The entrance fee is $25 for all adults.")


@pytest.mark.parametrize("end", [".", "x"])
@pytest.mark.parametrize("unit", ["a ", "- ", "A. ", ". ", "the ", "“", "\n---", "(a) ", ") "])
def test_prose_is_recognised_in_linear_time(unit: str, end: str) -> None:
    assert growth(is_prose, lambda size: "The " + unit * size + end, 20_000) < 10
