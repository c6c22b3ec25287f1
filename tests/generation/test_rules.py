from __future__ import annotations

import pytest
from growth import growth
from hypothesis import given
from hypothesis import strategies as st

from oreqa.generation.rules import LONGEST_SPAN, rule_spans


def found(text: str, kind: str) -> list[str]:
    """The texts of a kind in their order."""
    return [text[s.start : s.end] for s in sorted(rule_spans(text), key=lambda s: s.start) if s.kind == kind]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("It fell on 14 July 1789, not on July 4, 1776.", ["14 July 1789", "July 4, 1776"]),
        ("From March 1941 until 1945.", ["March 1941", "1945"]),
        ("In the late 19th century and in the 1920s", ["late 19th century", "1920s"]),
        ("Python 3.11.12, section 3.4.22, 99/99/9999 and 45.13.2001", []),
        ("released on 2020-05-12, 12/05/2021 and 3.4.2022", ["2020-05-12", "12/05/2021", "3.4.2022"]),
        ("Between 1914–1918 or 1914-18.", ["1914–1918", "1914-18"]),
        ("Caesar died in 44 BC.", ["44 BC"]),
        ("It weighs 1,945 kg, or 1945.5 in all, and cost $1945.", []),
        ("the twentieth century", ["twentieth century"]),
    ],
)
def test_dates(text: str, dates: list[str]) -> None:
    assert found(text, "date") == dates


@pytest.mark.parametrize(
    ("text", "numbers", "quantities"),
    [
        ("It cost $3.5 million for 1,200 people.", ["$3.5 million", "1,200"], ["1,200 people"]),
        ("About 25% or 25 percent of twenty-one teams", ["25%", "25 percent", "twenty-one"], ["twenty-one teams"]),
        ("£40 and US$ 9 and € 7", ["£40", "US$ 9", "€ 7"], []),
        ("An octopus has three hearts.", ["three"], ["three hearts"]),
        ("The 2nd of 40 km per hour", ["2nd", "40"], ["40 km per hour"]),
        ("a 40-mile road", ["40"], ["40-mile"]),
        ("version x2y and B52", [], []),
    ],
)
def test_numbers(text: str, numbers: list[str], quantities: list[str]) -> None:
    assert found(text, "number") == numbers
    assert found(text, "quantity") == quantities


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The University of Oxford is older than Trinity College.", ["University of Oxford", "Trinity College"]),
        ("Bees dance. Their queen, Beatrix, lays eggs.", ["Bees", "Beatrix"]),
        ("Bees dance. The queen of the bees lays eggs.", []),
        ("In London, Ludwig van Beethoven met Jean-Paul O'Neill.", ["London", "Ludwig van Beethoven", "Jean-Paul O'Neill"]),
        ("he saw World War II and Apollo 11 in the U.S. Senate", ["World War II", "Apollo 11", "U.S. Senate"]),
        ("Über Straße schreibt Émile Žižek", ["Über Straße", "Émile Žižek"]),
        ("She met France and Germany.", ["France", "Germany"]),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert found(text, "name") == names


def test_quoted_titles_and_phrases() -> None:
    text = 'He sang "Let It Be," and “ Yesterday ” with the old wooden guitar.'
    assert found(text, "quoted") == ["Let It Be", "Yesterday"]
    assert found(text, "phrase") == ["old wooden guitar"]
    assert found("Pollen is carried home quickly, by bees, in wax baskets. Cells close.", "phrase") == [
        "bees",
        "wax baskets",
    ]


def test_the_likeliest_come_first() -> None:
    spans = rule_spans("the wooden fox met Alan Turing on 7 June 1954")
    assert [span.kind for span in spans][:2] == ["date", "name"]
    assert [span.score for span in spans] == sorted((span.score for span in spans), reverse=True)
    assert all(span.score < 0 for span in spans)


MARKS = "aA é\u0301İ1,.$%–-'’\"“”«»‘\n of the ofMay1987BC😀漢"


@given(
    st.one_of(st.text(), st.text(MARKS), st.lists(st.sampled_from(["May", "12", "1987", "of", "the", " ", "A.", '"', "–"])))
)
def test_spans_lie_inside_any_text(text: str | list[str]) -> None:
    text = "".join(text)
    for span in rule_spans(text):
        assert 0 <= span.start < span.end <= len(text)
        assert span.end - span.start <= LONGEST_SPAN


PARTS = ["a", "A", "1", "A ", "a ", "1,", "1.", "1–", "A.", "A'", "A-", '"a', "“a", "1987 ", "May ", "A of the ", "of the ",
         "$", "$1 ", "twenty-", "one ", "-", "’", " ", "\n", "é́", "the ", "The ", "1 a", "‘a", "A of "]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_time_is_linear(part: str) -> None:
    assert growth(rule_spans, lambda size: part * (size // len(part)), 20_000) < 10
