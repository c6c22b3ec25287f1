from __future__ import annotations

import pytest

from oreqa.answer import Answer
from oreqa.answering.stated_defaults import STATED_RIGHT, as_sentences, with_stated_defaults
from oreqa.core import Document, Hit
from oreqa.corpus.splitter import paragraph_passage
from oreqa.models.fitted import Calibration

CALIBRATION = Calibration({}, 0.0, 0.3)
TEXT = "--keep=N\nKeep N of them, at most 9. The default is 5.\n\n--drop\nDrop some. Default: no."


def hit(text: str = TEXT) -> Hit:
    passage = paragraph_passage(Document("a.1", "", text))
    return Hit(1.0, passage, passage.sentences[0], 0, 0, {})


def answer(value: str, read: Hit, confidence: float | None = 0.1) -> Answer:
    start = read.passage.text.index(value)
    sentence = next(s for s in read.passage.sentences if s.start <= start < s.end)
    return Answer(value, start, start + len(value), confidence, sentence, read.passage, 0.0, {})


@pytest.mark.parametrize(
    ("question", "value", "confidence"),
    [
        ("What is the default of --keep?", "5", STATED_RIGHT),
        ("What is the default of --drop?", "no", STATED_RIGHT),
        ("What is the default of --keep?", "9", 0.1),  # its sentence states none
        ("What is the default of --keep?", "no", 0.1),  # that of another entry
        ("How many does --keep keep?", "5", 0.1),
    ],
)
def test_a_default_that_the_entry_states_is_likely(question: str, value: str, confidence: float) -> None:
    read = hit()
    first, other = with_stated_defaults(question, [answer(value, read), answer("9", read)], [read], CALIBRATION)
    assert (first.text, first.confidence, other.confidence) == (value, confidence, 0.1)
    (sure,) = with_stated_defaults(question, [answer(value, read, 0.99)], [read], CALIBRATION)
    assert sure.confidence == 0.99
    assert with_stated_defaults(question, [answer(value, read, None)], [read], None)[0].confidence is None
    assert with_stated_defaults(question, [], [read], CALIBRATION) == []


def test_sentences_are_whole_and_each_is_there_once() -> None:
    read = hit("The lamp is lit at night. Local echo is on by default. It can be set.")
    lit, on = as_sentences([answer("lit", read), answer("night", read, 0.05), answer("on by", read)])
    assert (lit.text, on.text) == ("The lamp is lit at night.", "Local echo is on by default.")
    assert on.text == read.passage.text[on.start : on.end]
    assert (lit.confidence, on.confidence) == (0.1, 0.1)
