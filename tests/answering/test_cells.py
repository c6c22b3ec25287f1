from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from oreqa.answer import Answer
from oreqa.answering.cells import NAMED_RIGHT, READ, with_asked_cells
from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.models.encoder.encoder import Encoder

ROWS = "country: Chad; year: 1992; lifeExp: 51.7; pop: 6429417\ncountry: Peru; year: 1992; lifeExp: 66.5; pop: 22430449"
PASSAGE = paragraph_passage(Document("africa.csv", "", ROWS))


class OfCosines:
    """An encoder by whose vectors each column has a given cosine with every question."""

    def __init__(self, **cosines: float) -> None:
        self.cosines = cosines

    def encode(self, questions: list[str]) -> np.ndarray:
        return np.array([[1.0, 0.0]] * len(questions), np.float32)

    def encode_document(self, columns: list[str]) -> np.ndarray:
        return np.array([[self.cosines.get(column.replace(" ", ""), 0.0), 0.0] for column in columns], np.float32)


def answer(value: str, confidence: float | None = 0.4) -> Answer:
    start = ROWS.index(value)
    sentence = next(s for s in PASSAGE.sentences if s.start <= start < s.end)
    return Answer(value, start, start + len(value), confidence, sentence, PASSAGE, 0.0, {})


def moved(question: str, *values: str, calibrated: bool = True, **cosines: float) -> list[Answer]:
    answers = [answer(value) for value in values]
    return with_asked_cells(question, answers, cast(Encoder, OfCosines(**cosines)), calibrated=calibrated)


@pytest.mark.parametrize(
    ("question", "read", "cosines", "expected", "confidence"),
    [
        ("What was the life expectancy in Chad?", "6429417", {}, "51.7", NAMED_RIGHT),  # its column is named
        ("What was the life expectancy in Chad in 1997?", "6429417", {}, "51.7", 0.4),  # another year's row
        ("what was the life expectancy there?", "6429417", {}, "51.7", 0.4),  # no row is named
        (
            "What population and life expectancy has Peru?",
            "22430449",
            {"lifeExp": 1.0},
            "22430449",
            NAMED_RIGHT,
        ),  # it stands
        ("How many live in Chad?", "51.7", {"pop": READ + 0.01}, "6429417", 0.4),
        ("How many live in Chad?", "51.7", {"pop": READ - 0.01}, "51.7", 0.4),
        ("How many live in Chad?", "51.7", {"country": 1.0}, "51.7", 0.4),  # the country is known
        ("In which year?", "51.7", {}, "1992", 0.4),
        ("Which country, Chad?", "51.7", {}, "51.7", 0.4),  # what it names is no answer
    ],
)
def test_the_cell_of_the_column_that_is_asked_for_answers(
    question: str, read: str, cosines: dict[str, float], expected: str, confidence: float
) -> None:
    (first,) = moved(question, read, **cosines)
    assert (first.text, first.confidence) == (expected, confidence)
    assert first.text == ROWS[first.start : first.end]
    assert first.sentence == answer(read).sentence


def test_each_cell_is_there_once_and_the_first_answer_alone_is_likelier() -> None:
    question = "What was the life expectancy in Chad and in Peru?"
    first, second = moved(question, "51.7", "6429417", "22430449")
    assert (first.text, second.text) == ("51.7", "66.5")
    assert second.confidence == 0.4


def test_what_is_in_no_row_stays_and_nothing_is_encoded() -> None:
    text = "Chad: 51.7 years. Peru has more."
    passage = paragraph_passage(Document("a.txt", "", text))
    prose = Answer("51.7", 6, 10, None, passage.sentences[0], passage, 0.0, {})
    assert with_asked_cells("What was the life expectancy in Chad?", [prose], cast(Encoder, None), calibrated=False) == [
        prose
    ]
    assert with_asked_cells("What?", [], cast(Encoder, None), calibrated=False) == []
    assert moved("What was the life expectancy in Chad?", "6429417", calibrated=False)[0].confidence == 0.4
    assert [kept.text for kept in moved("Chad 1992 51.7 6429417?", "51.7")] == ["51.7"]  # every value is mentioned
