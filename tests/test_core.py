from __future__ import annotations

import re
from pathlib import Path

import pytest

from oreqa.answer import Answer
from oreqa.answering.combining import SCORE_MEANINGS
from oreqa.core import Document, Hit, Passage, Place, Sentence, Span

SENTENCE = Sentence("An octopus has three hearts.", 40, 68)
PASSAGE = Passage("octopus.md", "Octopus", "", SENTENCE.text * 50, 40, 40 + 28 * 50, (SENTENCE,), {}, (Place(40, line=3),))


def test_answers_and_hits_print_their_sentence_and_place() -> None:
    answer = Answer("three", 55, 60, 0.934, SENTENCE, PASSAGE, 2.0, {})
    assert str(answer) == "three (sure, 93%)\n  An octopus has three hearts.\n  octopus.md:3"
    assert repr(answer) == "Answer('three', sure, 93%, 'An octopus has three hearts.', 'octopus.md:3')"
    whole = Answer(SENTENCE.text, 40, 68, None, SENTENCE, PASSAGE, 2.0, {})
    assert str(whole) == "An octopus has three hearts. (not calibrated)\n  octopus.md:3"
    hit = Hit(0.5, PASSAGE, SENTENCE, 1, 1, {"sentence_cosine": 0.4})
    assert str(hit) == "0.500  An octopus has three hearts.\n  octopus.md:3"
    assert repr([hit]) == "[Hit(0.500, 'An octopus has three hearts.', 'octopus.md:3')]"


@pytest.mark.parametrize(
    ("confidence", "certainty"),
    [
        (1.0, "sure"),
        (0.7, "sure"),
        (0.699, "likely"),
        (0.4, "likely"),
        (0.399, "weak"),
        (0.0, "weak"),
        (None, "not calibrated"),
    ],
)
def test_how_sure_an_answer_is_in_a_word(confidence: float | None, certainty: str) -> None:
    answer = Answer("three", 55, 60, confidence, SENTENCE, PASSAGE, 2.0, {})
    assert answer.certainty == certainty
    assert answer.percent == (
        "" if confidence is None else {0.699: "69%", 0.399: "39%"}.get(confidence, f"{confidence:.0%}")
    )


def test_no_more_is_printed_than_a_few_lines() -> None:
    long = "word\n" * 10_000
    sentence = Sentence(long, 0, len(long))
    passage = Passage("k", "", "", long, 0, len(long), (sentence,))
    for noun in (
        Document("k", "", long, fields={"a": long}),
        passage,
        Hit(1.0, passage, sentence, 1, 1, {}),
        Span(long, 0, len(long), 0, 1.0, {}),
        Answer(long, 0, len(long), 0.5, sentence, passage, 1.0, {}),
    ):
        assert len(repr(noun)) < 400
        assert repr(noun).count("word") <= 60
        assert "\n" not in repr(noun)
        assert len(str(noun).splitlines()) <= 3


@pytest.mark.parametrize(
    ("place", "address"),
    [
        (Place(0, "page 3"), "k, page 3"),
        (Place(0, "#install"), "k#install"),
        (Place(0, line=7), "k:8"),
        (Place(0), "k"),
        (None, "k"),
    ],
)
def test_addresses(place: Place | None, address: str) -> None:
    passage = Passage("k", "", "", "a\nb", 0, 3, (), places=(place,) if place else ())
    assert passage.address(2) == address


def test_the_reference_explains_every_score_in_the_same_words() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference.md").read_text()
    section = re.split(r"^## ", page[page.index("## Scores\n") + 3 :], maxsplit=1, flags=re.MULTILINE)[0]
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", section, re.MULTILINE) == list(SCORE_MEANINGS.items())
