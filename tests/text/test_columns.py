from __future__ import annotations

import pytest

from oreqa.text.columns import column_words, mentions_value, names_column


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lifeExp", ["life", "Exp"]),
        ("GNPDeflator", ["GNP", "Deflator"]),
        ("Rev.per_mile", ["Rev", "per", "mile"]),
        ("Zone 2", ["Zone", "2"]),
        ("Größe", ["Größe"]),
        ("人口", ["人口"]),
        ("1997", ["1997"]),
        ("run800m", ["run", "800", "m"]),
        ("", []),
    ],
)
def test_words_of_a_columns_name(name: str, words: list[str]) -> None:
    assert column_words(name) == words


@pytest.mark.parametrize(
    ("question", "name", "named"),
    [
        ("What is Utah's murder rate?", "murder", True),
        ("How many murders were there?", "Murder", True),
        ("How long is the life expectancy?", "lifeExp", True),
        ("How long do people live?", "lifeExp", False),
        ("What is the total population?", "poptotal", True),
        ("What is the total population?", "popwhite", False),
        ("What is the total population?", "population", True),
        ("What is the population?", "poptotal", False),
        ("On which market is it sold?", "mar", False),  # a word that stands alone is not cut off
        ("What is zone 2 of it?", "Zone 2", True),
        ("What is zone 2 of it?", "Zone 1", False),
        ("What is it?", "I", False),
        ("What is a zone?", "A", False),
        ("Is it as good?", "as", False),
        ("What is the very often of it?", "Very.Often", True),
        ("Who sat at the table?", "at.table", True),
        ("What is the run800m of her?", "run800m", True),
        ("Sales in 1997?", "1997", True),
        ("Sales in 1997?", "1998", False),
        ("What is it?", "", False),
        ("What is it?", "--", False),
    ],
)
def test_a_question_names_a_column(question: str, name: str, named: bool) -> None:
    assert names_column(question, name) == named


@pytest.mark.parametrize(
    ("question", "value", "mentioned"),
    [
        ("Who won in Loyola?", "35-Loyola", True),
        ("Who won in Loyola?", "Joly", False),
        ("Who won in 1997?", "1997", True),
        ("Who won in 1997?", "97", False),
        ("Who won in São Paulo?", "são paulo", True),
        ("Who won in Paulo?", "São Paulo", False),
        ("Who won?", "–", False),
        ("How many kg has it?", "5 kg", False),
        ("How many kg has the 5 kg box?", "5 kg", True),
        ("What's Anna's size?", "S", False),
        ("Is there a girl?", "A", False),
        ("Is there no girl?", "no", False),
    ],
)
def test_a_question_mentions_a_value(question: str, value: str, mentioned: bool) -> None:
    assert mentions_value(question, value) == mentioned
