from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.datasets.pairs import Candidate, Pair, load_pairs, pair_row, passage_pairs
from oreqa.errors import InputError


def test_pairs_come_back_as_they_were(tmp_path: Path) -> None:
    pairs = [
        Pair("q", Candidate("a", "a b", "t"), 0.25),
        Pair("q", Candidate("b", "b"), 0.6, "silver", 0.7, 3, (Candidate("c", "c"),)),
        Pair("r", Candidate("b", "b"), 0.6, "silver"),
    ]
    path = tmp_path / "p.jsonl"
    path.write_text("".join(json.dumps(pair_row(pair)) + "\n" for pair in pairs))
    assert list(load_pairs(path)) == pairs
    path.write_text('{"question": "q", "answer": "a"}\n')
    assert list(load_pairs(path)) == [Pair("q", Candidate("a", "a"), 1.0, "gold")]


def test_the_second_occurrence_of_an_answer_keeps_its_place(tmp_path: Path) -> None:
    pair = Pair("q", Candidate("a.", "a. b. a.", start=6), negatives=(Candidate("a.", "a. a.", start=3),))
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(pair_row(pair)) + "\n")
    (read,) = load_pairs(path)
    assert read == pair
    assert (read.positive.start, read.positive.end, read.negatives[0].start) == (6, 8, 3)
    path.write_text('{"question": "q", "answer": "a.", "context": "a. b. a.", "score": 0, "weight": 0}\n')
    (read,) = load_pairs(path)
    assert (read.positive.start, read.score, read.weight) == (0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("source", "Gold", "line 2: source is 'Gold'; write 'gold' or 'silver'"),
        ("source", "", "line 2: source is ''; write 'gold' or 'silver'"),
        ("source", None, "line 2: source is None"),
        ("source", ["gold"], r"line 2: source is \['gold'\]"),
        ("weight", 1.5, "line 2: weight is 1.5; write a number from 0 to 1"),
        ("weight", True, "line 2: weight is True"),
        ("answer", "elsewhere", "line 2: its answer does not stand in its context"),
        ("answer", " ", "line 2: its answer is empty"),
        ("question", " ", "line 2: its question is empty"),
        ("question", 3, "line 2: 'question' is int, not str"),
        ("score", 1.2, "line 2: score is 1.2; write a number from 0 to 1"),
        ("score", "high", "line 2: score is 'high'; write a number from 0 to 1"),
        ("rank", 0, "line 2: rank is 0; write a whole number from 1, or leave it out"),
        ("rank", 2.5, "line 2: rank is 2.5"),
        ("start", 1, "line 2: its answer does not stand in its context at 1"),
        ("start", -3, "line 2: start is -3; write the answer's first character in the context, from 0"),
        ("start", "0", "line 2: 'start' is str, not int"),
        ("negatives", [1], "line 2, negative 1: write a text, or an object"),
        ("negatives", [{"answer": "b"}, {"answer": "c", "context": "d"}], "line 2, negative 2: its answer does not stand"),
        ("negatives", {"answer": "b"}, "line 2: 'negatives' is dict, not list"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, field: str, value: object, message: str) -> None:
    path = tmp_path / "p.jsonl"
    row = {"question": "q", "answer": "a", "context": "a b"}
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, field: value}) + "\n")
    with pytest.raises(InputError, match=message):
        list(load_pairs(path))


def test_forms_of_one_passage_have_its_name(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    pair = Pair("q", Candidate("a b", "a b"), passage="key:0")
    path.write_text(json.dumps(pair_row(pair)) + "\n")
    assert list(load_pairs(path)) == [pair]


def test_whole_passages_stand_for_their_sentences() -> None:
    text, other = "One. Two. Three.", "Four. Five."
    pairs = [
        Pair("q", Candidate("One.", text), 0.9, "silver", 0.9, 2),
        Pair("q", Candidate("Two.", text), 0.5, negatives=(Candidate("Three.", text), Candidate("Four.", other))),
        Pair("q", Candidate("Three.", text), 0.4),
        Pair("q", Candidate("One.", text, "another title")),
        Pair("r", Candidate("One.", text), negatives=(Candidate("Four.", other), Candidate("Five.", other)), passage="x"),
    ]
    whole = Candidate(other, other)
    assert passage_pairs(pairs) == [
        Pair("q", Candidate(text, text), 0.5, negatives=(whole,)),
        Pair("q", Candidate(text, text, "another title")),
        Pair("r", Candidate(text, text), negatives=(whole,), passage="x"),
    ]
