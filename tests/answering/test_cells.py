from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from oreqa.answer import Answer
from oreqa.answering.cells import MOST_COLUMNS, NAMED_RIGHT, READ, with_asked_cells
from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.models.encoder.encoder import Encoder

CHAD = "country: Chad; year: 1992; lifeExp: 51.7; pop: 6429417; area: 1284 km; capital: N'Djamena"
PERU = "country: Peru; year: 1992; lifeExp: 66.5; pop: 22430449; area: 1285 km; capital: Lima"


class OfCosines:
    """An encoder by whose vectors each column has a given cosine with every question."""

    def __init__(self, **cosines: float) -> None:
        self.cosines = cosines

    def encode(self, questions: list[str]) -> np.ndarray:
        return np.array([[1.0, 0.0]] * len(questions), np.float32)

    def encode_document(self, columns: list[str]) -> np.ndarray:
        return np.array([[self.cosines.get(column.replace(" ", ""), 0.0), 0.0] for column in columns], np.float32)


def passage(row: str) -> Passage:
    return paragraph_passage(Document("africa.csv", "", row))


def answer(value: str, read: Passage, confidence: float | None = 0.4) -> Answer:
    start = read.text.index(value)
    sentence = next(s for s in read.sentences if s.start <= start < s.end)
    return Answer(value, start, start + len(value), confidence, sentence, read, 0.0, {})


def moved(question: str, *values: str, rows: tuple[str, ...] = (CHAD, PERU), **cosines: float) -> list[Answer]:
    """Return the moved answers, all from the first row."""
    passages = [passage(row) for row in rows]
    answers = [answer(value, passages[0]) for value in values]
    return with_asked_cells(question, answers, passages, cast(Encoder, OfCosines(**cosines)), calibrated=True)


@pytest.mark.parametrize(
    ("question", "read", "cosines", "expected", "confidence"),
    [
        ("What was the life expectancy in Chad?", "6429417", {}, "51.7", NAMED_RIGHT),  # its column is named
        ("What was the life expectancy in Chad in 1997?", "6429417", {}, "51.7", 0.4),  # another year's row
        ("what was the life expectancy there?", "6429417", {}, "51.7", 0.4),  # no row is named
        ("What pop and life expectancy has Chad?", "6429417", {"lifeExp": 1.0}, "6429417", NAMED_RIGHT),  # it stands
        ("How many live in Chad?", "51.7", {"pop": READ + 0.01}, "6429417", 0.4),
        ("How many live in Chad?", "51.7", {"pop": READ - 0.01}, "51.7", 0.4),
        ("How many live in Chad?", "51.7", {"country": 1.0}, "51.7", 0.4),  # the country is known
        ("How many km has Chad?", "1284 km", {}, "1284 km", 0.4),  # a unit is no value
        ("Is the capital of Chad N'Djamena or Lima?", "N'Djamena", {"pop": 1.0}, "N'Djamena", 0.4),
        ("What?", "51.7", {"pop": 1.0}, "6429417", 0.4),
    ],
)
def test_the_cell_of_the_column_that_is_asked_for_answers(
    question: str, read: str, cosines: dict[str, float], expected: str, confidence: float
) -> None:
    (first,) = moved(question, read, **cosines)
    assert (first.text, first.confidence) == (expected, confidence)
    assert first.text == CHAD[first.start : first.end]


def test_a_cell_is_no_likelier_if_several_rows_fit() -> None:
    question, later = "What was the life expectancy in Chad?", CHAD.replace("1992", "1997")
    (same,) = moved(question, "6429417", rows=(CHAD, later))
    assert (same.text, same.confidence) == ("51.7", NAMED_RIGHT)  # the rows agree
    (first,) = moved(question, "6429417", rows=(CHAD, later.replace("51.7", "50.1")))
    assert (first.text, first.confidence) == ("51.7", 0.4)
    (named,) = moved("What was the life expectancy in Chad in 1992?", "6429417", rows=(CHAD, later.replace("51.7", "50.1")))
    assert named.confidence == NAMED_RIGHT


def test_a_missing_value_is_no_likelier() -> None:
    (missing,) = moved("What was the life expectancy in Chad?", "6429417", rows=(CHAD.replace("51.7", "NA"), PERU))
    assert (missing.text, missing.confidence) == ("NA", 0.4)


def test_numbers_tell_columns_apart_and_a_full_name_is_before_its_part() -> None:
    rows = ("state: Utah; zone 1: 11; zone 2: 22; zone: 33", "state: Ohio; zone 1: 12; zone 2: 23; zone: 34")
    assert [moved(f"What is zone {n} of Utah?", "11", rows=rows)[0].text for n in (1, 2)] == ["11", "22"]
    assert moved("What is zone 2 of Utah?", "33", rows=rows)[0].text == "33"  # named as well: the reader decides


def test_each_cell_is_there_once_and_the_first_answer_alone_is_likelier() -> None:
    first, second = moved("What was the life expectancy and capital of Chad?", "51.7", "6429417", "N'Djamena")
    assert [first.text, second.text] == ["51.7", "N'Djamena"]
    assert (first.confidence, second.confidence) == (NAMED_RIGHT, 0.4)


def test_the_sentence_is_that_of_the_cell() -> None:
    row = "town: Bern; note: It opened in 1990. It closed in 2000; population: 134,000"
    (first,) = moved("What is the population of Bern?", "It opened", rows=(row, row.replace("Bern", "Biel")))
    assert first.text == "134,000"
    assert first.sentence.start <= first.start < first.end <= first.sentence.end


@pytest.mark.parametrize(
    "rows",
    [
        ("Ingredients: flour, milk; Time: 30 minutes; Serves: 4 people",),  # one such line makes no table
        ("Time: 30 minutes; Serves: 4 people\nTime: 40 minutes; Serves: 3 people",) * 2,  # lines of a text
        ("It takes 30 minutes and serves 4 people.",),
    ],
)
def test_text_stays(rows: tuple[str, ...]) -> None:
    (first,) = moved("How many people does it serve?", "30 minutes", rows=rows, Serves=1.0)
    assert first.text == "30 minutes"


def test_a_document_that_is_a_row_is_one_alone() -> None:
    alone = replace(passage(CHAD), fields={"lifeExp": "51.7", "pop": "6429417"})
    encoder, question = cast(Encoder, OfCosines()), "What was the life expectancy in Chad?"
    (first,) = with_asked_cells(question, [answer("6429417", alone)], [alone], encoder, calibrated=True)
    assert (first.text, first.confidence) == ("51.7", NAMED_RIGHT)
    (plain,) = with_asked_cells(question, [answer("6429417", alone, None)], [alone], encoder, calibrated=False)
    assert (plain.text, plain.confidence) == ("51.7", None)


def test_names_of_very_many_columns_are_not_encoded() -> None:
    wide = "; ".join(f"c{n}: {n}" for n in range(MOST_COLUMNS + 1))
    passages = [passage(wide), passage(wide)]
    (first,) = with_asked_cells("What?", [answer("7", passages[0])], passages, cast(Encoder, None), calibrated=True)
    assert first.text == "7"
    assert with_asked_cells("What?", [], passages, cast(Encoder, None), calibrated=False) == []
