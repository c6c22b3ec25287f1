from __future__ import annotations

import json
from pathlib import Path

import pytest

from oreqa.datasets.pairs import Candidate, Pair, load_pairs, pair_row
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
        ("negatives", ["x"], "line 2, negatives: write an object"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, field: str, value: object, message: str) -> None:
    path = tmp_path / "p.jsonl"
    row = {"question": "q", "answer": "a", "context": "a b"}
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, field: value}) + "\n")
    with pytest.raises(InputError, match=message):
        list(load_pairs(path))
