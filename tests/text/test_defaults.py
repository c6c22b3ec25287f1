from __future__ import annotations

import pytest

from oreqa.text.defaults import asks_for_default, asks_whether_default, beside_defaults, states_default, without_default


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What is the default of --keep?", True),
        ("By default, what is keep_all set to?", True),
        ("Which port does it default to?", True),
        ("How many does it keep by default?", True),
        ("How do I change the default of --keep?", False),
        ("What does --default-server do?", False),
        ("What is the value of server_default?", False),
        ("What does --keep do?", False),
    ],
)
def test_questions_that_ask_for_a_default(question: str, asks: bool) -> None:
    assert asks_for_default(question) is asks


@pytest.mark.parametrize(
    ("entry", "kept"),
    [
        ("--keep=N\nKeep N of them, as 5.", ""),  # an example is no default
        ("--keep=N\nKeep N of them. Default: 5. At most 9.", "Default: 5."),
        ("--keep=N [default: 5]\nKeep N of them. At most 9.", "--keep=N [default: 5] Keep N of them."),
        ("--keep=<N>\nBy default 5 are kept.", "--keep= By default 5 are kept."),
        ("--keep\nKeep all. This is the default.", "--keep Keep all. This is the default."),
        ("--keep=N\nKeep some. The default value:\n\n5 of them. At most 9.", "The default value: 5 of them."),
        ("--keep=N\nKeep N of them; 5 if none is given.", "--keep=N Keep N of them; 5 if none is given."),
        ("--keep=<N>\nUnless set, 5 are kept.", "--keep= Unless set, 5 are kept."),
        ("keep-all: yes\nKeep all.", "keep-all: yes Keep all."),
        ("keep-all=int\nKeep all.", ""),
        ("--keep=N\nBehält N. Vorgabe: 5", "--keep=N Behält N. Vorgabe: 5"),
    ],
)
def test_what_states_the_default_of_an_entry_is_left(entry: str, kept: str) -> None:
    text = f"Before.\n\n{entry}\n\nBehind."
    start = text.index(entry)
    rest = list(text)
    for first, last in without_default(text, start, start + len(entry)):
        assert start <= first < last <= start + len(entry)
        rest[first:last] = " " * (last - first)
    assert "".join(rest).split() == ["Before.", *kept.split(), "Behind."]


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("The default is 5.", True),
        ("The default value is 5.", True),
        ("Defaults to 5.", True),
        ("Default: 5", True),
        ("--keep=N (default 5)", True),
        ("It is on by default.", True),
        ("keep all (the default)", True),
        ("5 is the default.", True),
        ("A defaulting mechanism exists.", False),
        ("It changes the default colours.", False),
    ],
)
def test_sentences_that_state_a_default(text: str, states: bool) -> None:
    assert states_default(text) is states


def test_questions_for_yes_or_no_leave_out_what_says_no_default() -> None:
    texts = ["Echo is local. Echo is on by default.", "Echo is slow."]
    assert beside_defaults("Is local echo on by default?", texts) == [[(0, 15)], [(0, len(texts[1]))]]
    assert beside_defaults("Is local echo on by default?", texts[1:]) == [[]]
    assert beside_defaults("Which echo is on by default?", texts) == [[], []]
    assert asks_whether_default("Does it keep all by default?")
    assert not asks_whether_default("Is the echo local?")
