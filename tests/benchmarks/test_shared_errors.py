"""Questions that two runs fail are drawn and counted by their labels."""

from __future__ import annotations

from types import ModuleType

import pytest
from scripts import load_script

from oreqa.evaluation.runs import Run
from oreqa.files import read_json


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("quality/shared_errors")


def run_of(name: str, right: str) -> Run:
    rows = {key: {"question": f"Q {key}?", "em": float(key in right), "gold": [key], "answers": []} for key in "abcdefgh"}
    return Run(name, {}, rows)


def test_only_questions_that_both_fail_are_drawn(script: ModuleType) -> None:
    dense, sparse = run_of("dense", "ab"), run_of("sparse", "bc")
    drawn = script.draw_shared(dense, sparse, 9)
    assert sorted(drawn) == ["d", "e", "f", "g", "h"]
    assert script.draw_shared(dense, sparse, 2) == drawn[:2]
    sparse.questions["c"]["answers"].append({"text": "an answer", "score": 1.0})
    assert script.shown("c", (dense, sparse)) == "c: Q c?\n  right: ['c']\n  answered: ['an answer']"


def test_labels_are_counted_that_have_a_meaning(script: ModuleType) -> None:
    labels = {"a": "misread", "b": "misread", "c": "ambiguous"}
    assert script.counted(["a", "c", "d"], labels, {"ambiguous": "", "misread": ""}) == {"ambiguous": 1, "misread": 1}
    with pytest.raises(ValueError, match=r"labels without a meaning: \['misread'\]"):
        script.counted(["a"], labels, {"ambiguous": ""})


def test_fifty_questions_are_judged(script: ModuleType) -> None:
    judged = read_json(script.JUDGEMENTS)
    assert len(judged["labels"]) == script.DRAWN
    counts = script.counted([*judged["labels"]], judged["labels"], judged["meanings"])
    assert sum(counts.values()) == script.DRAWN
    assert min(counts.values()) > 0
