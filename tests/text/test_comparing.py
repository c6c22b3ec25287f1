from __future__ import annotations

import pytest

from oreqa.text.comparing import FREE, RESTRICTING, ROW_WORDS, asks_to_compute, count_at, extremes_at
from oreqa.text.stop_words import STOP_WORDS


@pytest.mark.parametrize(
    "question",
    ["How many hens are there?", "Which city has the highest rent?", "Who is the oldest?", "what is the minimum age"],
)
def test_what_is_computed(question: str) -> None:
    assert asks_to_compute(question)


@pytest.mark.parametrize(
    "question",
    [
        "How old is Anna?",
        "Which city is high?",
        "Which has the highest and which the lowest rent?",
        "How many have the most?",
    ],
)
def test_what_is_looked_up(question: str) -> None:
    assert not asks_to_compute(question)


def test_the_places_of_what_is_asked() -> None:
    assert count_at(["so", "how", "many", "hens"]) == 3
    assert extremes_at(["the", "oldest", "and", "lowest"]) == [1, 3]


def test_a_restriction_is_never_free_because_it_is_in_two_lists() -> None:
    assert FREE.isdisjoint(RESTRICTING)
    assert ROW_WORDS <= FREE
    assert STOP_WORDS <= FREE | RESTRICTING  # many restrict although a search leaves them out
    assert {"or", "besides", "cannot", "near", "off", "instead"} <= RESTRICTING
