from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from growth import growth

from oreqa.models.generator.inputs import GeneratorInputs, MarkedAnswer
from oreqa.models.generator.surface import join_pieces
from oreqa.models.names import find_model

CONTEXT = (
    "Disney's 12-year-old studio paid $5,000 (3.5% of £2.1m) to Zoë O'Brien at AT&T. Teachers like the iPod/iPad. "
    "She won the 1920–21 U.S. Open in New York, and “The Lion King” was shown at 5:30 p.m. The players' union said: "
    "\"don't play\" [sic]. NASA and the State of Hawai'i agreed."
)
TITLE = "Walt Disney"


@pytest.fixture(scope="module")
def inputs() -> GeneratorInputs:
    return GeneratorInputs(find_model("all-minilm-l6-v2") / "tokenizer.json", 128, 32, ["textbook"])


def written(inputs: GeneratorInputs, question: str, context: str = CONTEXT, title: str = TITLE) -> str:
    """The question after the tokenizer has taken its case, accents and spaces."""
    tokens = inputs.tokenize([question])
    return inputs.text(tokens[question].ids, MarkedAnswer(title, context, 0, 1))


@pytest.mark.parametrize(
    "question",
    [
        "What did Disney's 12-year-old studio pay?",
        "Who was paid $5,000?",
        "How much is (3.5% of £2.1m)?",
        "Where does Zoë O'Brien of AT&T work?",
        "Who likes the iPod/iPad?",
        "In which year did she win the U.S. Open?",
        "What did she win in the 1920–21 U.S. Open in New York?",
        "What is “The Lion King”?",
        "What did the players' union say?",
        "What did Walt Disney pay in New York?",
        "What did NASA and the State of Hawai'i agree on?",
        "What happened at 5:30 p.m.?",
        'Who said "don\'t play"?',
        '"don\'t play" is what whom said?',
    ],
)
def test_words_are_written_as_in_the_passage(inputs: GeneratorInputs, question: str) -> None:
    assert written(inputs, question) == question


@pytest.mark.parametrize(
    "question",
    [
        "What isn't in the passage's text?",
        "What did the dogs' owners' cats do?",
        "Who is the co-founder and/or the owner?",
        "How much is $3,500.75 (or 12.5%) of £1,000,000?",
        "What happened on July 4, 1999, at 6:45?",
        "Why did they say 'stop here' and \"go on\" to him?",
        "Who said 'it's mine' first?",
        "Which one is it: red, green; or blue?",
        "What do I do on Monday in September?",
        "What is item #5 [see b]?",
        "What are the initials j.r.r.?",
    ],
)
def test_without_the_passage_the_rules_of_english_apply(inputs: GeneratorInputs, question: str) -> None:
    assert written(inputs, question, "nothing of it", "") == question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("who was paid by disney", "who was paid by Disney"),  # a search question has no mark, and begins as it is
        ("ipod/ipad are what?", "iPod/iPad are what?"),
        ("?", "?"),
        ("what do teachers like?", "What do Teachers like?"),  # only seen where a sentence begins
        ("what is the lion king?", "What is The Lion King?"),  # as the passage names it
        ("who likes the king?", "Who likes the King?"),
        ("which lions are there?", "Which Lions are there?"),  # the plural of a name
    ],
)
def test_case(inputs: GeneratorInputs, question: str, text: str) -> None:
    assert written(inputs, question) == text


def test_what_begins_a_sentence_is_weaker_than_what_stands_inside(inputs: GeneratorInputs) -> None:
    context = "Bees dance. All bees have wings. The queen lays eggs. Tesla built it, as Tesla said."
    assert written(inputs, "how do bees dance?", context, "") == "How do bees dance?"
    assert written(inputs, "what does the queen lay?", context, "") == "What does the queen lay?"
    assert written(inputs, "what did tesla build?", context, "") == "What did Tesla build?"


def test_a_shouted_passage_says_nothing_about_case(inputs: GeneratorInputs) -> None:
    assert written(inputs, "who may enter?", "DO NOT ENTER THE MINE", "WARNING") == "Who may enter?"


def test_other_scripts(inputs: GeneratorInputs) -> None:
    assert written(inputs, "what is 東京?", "She lives in 東京 now.", "") == "What is 東京?"
    assert written(inputs, "who is 東京?", "nothing", "") == "Who is 東 京?"


def test_pieces_of_words_are_joined() -> None:
    assert join_pieces(["fox", "##es", "'", "s", "##a"]) == ["foxes", "'", "sa"]
    assert join_pieces(["##es", "a"]) == ["##es", "a"]
    assert join_pieces([]) == []


def test_the_time_is_linear(inputs: GeneratorInputs) -> None:
    def make(size: int) -> tuple[Sequence[int], MarkedAnswer]:
        question = "the fox saw the fox " * size + "?"
        marked = MarkedAnswer("", "The Fox saw the fox, and the Fox ran. " * size, 0, 1)
        return inputs.tokenize([question])[question].ids, marked

    assert growth(lambda made: inputs.text(*made), make, 400) < 10


@pytest.mark.slow
@pytest.mark.shared_data
def test_questions_of_people_come_back(inputs: GeneratorInputs, data: Path) -> None:
    """Letters and spaces of nearly all, and case of most: people are not always of one mind with the passage."""
    with gzip.open(data / "extractive" / "squad-train-pieces.json.gz") as file:
        paragraphs = [p for article in json.load(file)["data"] for p in article["paragraphs"]][::20]
    pairs = [
        (" ".join(qa["question"].split()), written(inputs, qa["question"], p["context"], ""))
        for p in paragraphs
        for qa in p["qas"]
    ]
    assert len(pairs) > 300
    assert sum(a.lower() == b.lower() for a, b in pairs) > 0.94 * len(pairs)
    words = [(x, y) for a, b in pairs if a.lower() == b.lower() for x, y in zip(a.split(), b.split(), strict=True)]
    assert sum(x == y for x, y in words) > 0.95 * len(words)
