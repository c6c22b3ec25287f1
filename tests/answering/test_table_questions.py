from __future__ import annotations

import pytest

from oreqa.answering.table_questions import Result, computed
from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.index.tables import TableRow, WholeTable
from oreqa.text.rows import row_cells, row_text


def table(head: str, text: str) -> WholeTable:
    """A table from lines of cells, the first of them its columns."""
    names, *lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    rows = []
    for number, values in enumerate(lines):
        written = row_text([(name, value) for name, value in zip(names, values, strict=True) if value])
        cells = {written[slice(*name)]: value for name, value in row_cells(written, 0)}
        rows.append(TableRow(paragraph_passage(Document(f"{head}#{number}", "", written)), 0, len(written), cells))
    return WholeTable(head, tuple(names), tuple(rows))


STAFF = table(
    "staff 2024",
    """
    name | city | age | hired
    Anna | Berlin | 41 | 2019-03-01
    Ben | Bonn | 38 | 2001-05-09
    Carl | Berlin | 52 | 2019-11-30
    Dora | Ulm | 29 | 2022-01-15
    Emil | Berlin | 52 | 2020-07-01
    """,
)
COUNTRIES = table(
    "gapminder",
    """
    country | continent | year | lifeExp | pop | Area (km²)
    Norway | Europe | 2002 | 79.0 | 4535591 | 385
    Norway | Europe | 2007 | 80.2 | 4627926 | 385
    Japan | Asia | 2002 | 82.0 | 127065841 | 378
    Japan | Asia | 2007 | 82.6 | 127467972 | 378
    Oman | Asia | 2002 | 74.2 | 2713462 | 310
    Oman | Asia | 2007 | 75.6 | 3204897 | 310
    """,
)


def said(question: str, rows: WholeTable) -> list[str] | None:
    result = computed(question, rows, lambda word: word not in {"people", "female", "life", "managers", "income"})
    if result is None:
        return None
    return [row.cell(result.column) for row in result.rows] if result.column else [str(len(result.rows))]


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("How many employees work in Berlin?", STAFF, ["3"]),
        ("How many of the employees live in Ulm?", STAFF, ["1"]),
        ("How many rows does the staff file have?", STAFF, ["5"]),
        ("How many staff are there?", STAFF, ["5"]),
        ("What is the highest age that an employee from Berlin has?", STAFF, ["52"]),
        ("How many employees were hired in 2019?", STAFF, ["2"]),
        ("How many cities are there?", STAFF, ["3"]),
        ("How many countries of Asia are there?", COUNTRIES, ["2"]),
        ("Who is the youngest employee?", STAFF, ["Dora"]),
        ("Who is the oldest employee in Berlin?", STAFF, ["Carl", "Emil"]),
        ("When was the latest employee hired?", STAFF, ["2022-01-15"]),
        ("Which city has the employee of the lowest age?", STAFF, ["Ulm"]),
        ("What is the highest age?", STAFF, ["52"]),
        ("Which country had the highest life expectancy in 2007?", COUNTRIES, ["Japan"]),
        ("What was the smallest population in Asia in 2002?", COUNTRIES, ["2713462"]),
        ("Which country has the least area in 2007?", COUNTRIES, ["Oman"]),
        ("What is the name of the country with the highest population in 2002?", COUNTRIES, ["Japan"]),
    ],
)
def test_what_the_table_says(question: str, rows: WholeTable, answer: list[str]) -> None:
    assert said(question, rows) == answer


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many people live in Berlin?", STAFF),  # no word says that rows are people who live there
        ("How many employees work in Paris?", STAFF),
        ("How many female employees work in Berlin?", STAFF),
        ("How many employees do not work in Berlin?", STAFF),
        ("How many employees work in Berlin or are managers?", STAFF),
        ("How many employees are there besides those in Berlin?", STAFF),
        ("How many employees cannot work in Berlin?", STAFF),
        ("How many employees can't work in Berlin?", STAFF),
        ("How many employees can’t work in Berlin?", STAFF),
        ("How many employees dont work in Berlin?", STAFF),
        ("How many employees work near Berlin?", STAFF),
        ("How many employees are off in Berlin?", STAFF),
        ("How many employees work in Ulm instead of Berlin?", STAFF),
        ("How many employees work outside Berlin?", STAFF),
        ("How many employees are there excluding Berlin?", STAFF),
        ("Who is the oldest employee away from Berlin?", STAFF),
        ("How many employees are older than 40?", STAFF),
        ("How many years old is Anna?", STAFF),
        ("How many employees are called Anna?", STAFF),  # a question about one row
        ("How many staff were hired in 2022?", STAFF),
        ("How many people lived in Norway?", COUNTRIES),  # a row is no country
        ("Who is the second oldest employee?", STAFF),
        ("Who is the oldest employee in Paris?", STAFF),
        ("Who is the tallest employee?", STAFF),
        ("Which country has the highest income?", COUNTRIES),
        ("Which country had the highest population in 1999?", COUNTRIES),
        ("What is the average of the highest ages?", STAFF),
        ("What is the maximum age of Anna?", STAFF),
    ],
)
def test_what_the_table_does_not_say(question: str, rows: WholeTable) -> None:
    assert said(question, rows) is None


def test_values_of_two_units_are_not_compared() -> None:
    goods = table("goods", "thing | weight\nflour | 5 kg\nsalt | 300 g")
    assert said("Which thing has the highest weight?", goods) is None
    same = table("goods", "thing | weight\nflour | 5 kg\nsalt | 0.3 kg")
    assert said("Which thing has the highest weight?", same) == ["flour"]
    assert said("Which thing is the lightest?", same) == ["salt"]


def test_a_value_of_two_columns_is_not_guessed() -> None:
    games = table("games", "match | home | guest\n1 | Ulm | Bonn\n2 | Bonn | Ulm\n3 | Ulm | Kiel\n4 | Kiel | Bonn")
    assert said("How many games are there with Ulm?", games) is None
    assert said("How many games are there with home Ulm?", games) == ["2"]
    assert said("How many games are there with guest Bonn?", games) == ["2"]


def test_a_stop_word_is_a_value_only_in_the_capitals_of_the_table() -> None:
    states = table("airports", "code | state\nA1 | IN\nA2 | OR\nA3 | IN")
    assert said("How many airports are in IN?", states) == ["2"]
    assert said("How many airports are in the list?", states) == ["3"]


def test_the_result_says_what_was_looked_at() -> None:
    result = computed("What is the lowest age in Berlin?", STAFF, lambda word: False)
    assert result == Result("lowest", (STAFF.rows[0],), "age", "age", 3)
