from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from training_parts import pool_of, prepared, retriever_recipe

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_training_pairs  # noqa: E402
from oreqa.datasets.pairs import Candidate, Pair  # noqa: E402


def test_a_batch_knows_who_answers_what(squad_file: Path, tiny: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny)
    pairs = load_training_pairs(squad_file)
    examples, collate = prepared(tiny, recipe, pairs)
    assert sorted(e.question for e in examples) == sorted(p.question for p in pairs)
    batch = collate(examples[:6])
    contexts = {e.positive.context for e in examples[:6]}
    assert len(batch["rows"]) == 2 * len(contexts)  # every sentence of every passage
    inputs = [tuple(row) for row in batch["passage_input_ids"].tolist()]
    assert len(set(inputs)) == len(inputs)  # nothing is read twice
    for q in range(6):
        answering = (batch["candidate_texts"][:, None] == batch["answer_texts"][q]).any(-1)
        assert answering.nonzero()[:, 0].tolist() == [int(batch["positives"][q])]


def test_silver_pairs_are_positives_or_missing_gold_or_no_negatives(tiny: Path, squad_file: Path) -> None:
    def pair(answer: str, score: float | None, source: str = "silver") -> Pair:
        return Pair("q", Candidate(answer, answer), 1.0 if source == "gold" or score is None else score, source, score)

    pairs = [pair("gold", 0.9, "gold"), pair("good", 0.8), pair("fair", 0.6), pair("bad", 0.1)]

    def examples(**changes: object) -> list[tuple[str, float, set[str], tuple[float, ...]]]:
        rows = pool_of(retriever_recipe(squad_file, tiny, **changes), pairs).draw(random.Random(0))
        return [(e.positive.answer, e.weight, {o.answer for o in e.others}, e.scores) for e in rows]

    assert examples() == [
        ("gold", 1.0, set(), ()),
        ("good", pytest.approx(0.64), set(), ()),
        ("fair", pytest.approx(0.36), set(), ()),
    ]
    assert examples(weight_power=0, negatives=3)[1:] == [("good", 1.0, {"bad"}, ()), ("fair", 1.0, {"bad"}, ())]
    assert examples(silver="none", negatives=3) == [("gold", 1.0, {"bad"}, ())]
    assert examples(silver="missing_gold", negatives=3) == [("gold", 1.0, {"bad"}, ())]
    soft = {"loss": "soft_labels", "silver": "missing_gold"}
    ((answer, weight, others, scores),) = examples(**soft, negatives=3)
    assert (answer, weight, others) == ("gold", 1.0, {"good", "fair", "bad"})
    assert sorted(scores) == [0.1, 0.6, 0.8, 0.9]
    lone = [*pairs[1:], *map(replace, pairs[1:])]  # twice the same, as files of several runs have it
    (alone,) = pool_of(retriever_recipe(squad_file, tiny, **soft, negatives=1), lone).draw(
        random.Random(0)
    )  # without gold the likeliest is the positive, once
    assert (alone.positive.answer, alone.weight) == ("good", pytest.approx(0.64))
    assert alone.scores[0] == 0.8
    bad = pairs[3:]  # the likeliest of its question, and still too unlikely
    assert not pool_of(retriever_recipe(squad_file, tiny, **soft, negatives=1), bad).draw(random.Random(0))
    top = retriever_recipe(squad_file, tiny, silver="missing_gold")
    assert [example.positive.answer for example in pool_of(top, lone).draw(random.Random(0))] == ["good"]
    assert not pool_of(retriever_recipe(squad_file, tiny, silver="none"), lone).draw(random.Random(0))
    rows, collate = prepared(tiny, retriever_recipe(squad_file, tiny), pairs)
    assert (collate(rows)["answer_texts"][0] >= 0).sum() == 3  # the bad one stays a negative
