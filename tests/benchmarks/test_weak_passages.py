"""What counts as weak supervision that found the annotated paragraph."""

from __future__ import annotations

import pytest
from scripts import load_script

from oreqa.datasets.pairs import Candidate, Pair


def test_a_passage_its_paragraph_and_the_place_in_it_are_counted_apart() -> None:
    text = "Paris was Roman. Today Paris is the capital."
    place = (text, 23, 28)
    first, annotated = (Pair("Which?", Candidate("Paris", text, "", start)) for start in (0, 23))
    foreign = Pair("Which?", Candidate("Paris", "The Seine flows through Paris."))
    rows = [(place, first, foreign), (place, annotated, None), (place, foreign, foreign), (place, None, None)]
    expected = {"questions": 4, "a passage": 75, "the annotated one": 50, "at the annotated place": 25, "elsewhere": 50}
    assert load_script("experiments/weak_passages").percents(rows) == pytest.approx(expected)
