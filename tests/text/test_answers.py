"""Answers compared, and where they stand in a text. Normalisation is checked with the scores of evaluation."""

from __future__ import annotations

import pytest

from oreqa.errors import InputError
from oreqa.text.answers import f1_score, match_pattern, occurrences, pattern_occurrences


@pytest.mark.slow
def test_patterns() -> None:
    assert match_pattern("1912 or so", r"19\d\d")
    assert not match_pattern("in 1912", r"19\d\d")
    assert match_pattern("in 1912", r"19\d\d", anchored=False)
    assert match_pattern("MOUNT everest", "mount Everest")
    assert not match_pattern("a" * 40 + "!", r"(a|aa)+$")  # would take years
    with pytest.raises(InputError, match="not a regular expression"):
        match_pattern("x", "(")


def test_occurrences_are_whole_words() -> None:
    assert occurrences("The cat, the  Cat and a catalogue", "the cat") == [(0, 7), (9, 17)]
    assert occurrences("C++ and c++", "C++") == [(0, 3), (8, 11)]
    assert occurrences("anything", " ") == []
    assert f1_score("", "") == 0


def test_every_match_of_a_pattern_but_empty_ones() -> None:
    assert pattern_occurrences("ABC", "b|x*") == [(1, 2)]
    with pytest.raises(InputError, match="not a regular expression"):
        pattern_occurrences("ABC", "(")


def test_a_pattern_that_takes_too_long_matches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oreqa.text.answers.PATTERN_SECONDS", 0.05)
    assert pattern_occurrences("a" * 40 + "b", "(a|a)*c") == []
