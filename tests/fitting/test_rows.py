from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from oreqa.answering.combining import Combination, merge_equal_spans
from oreqa.core import Span
from oreqa.fitting.rows import (
    RESCORED,
    RETRIEVAL,
    SELECTION,
    Row,
    best_combination,
    first_score,
    judged_answers,
    mean_score,
    ranked_answers,
    reconsidered,
)
from oreqa.models.names import CLASSIFIER, RERANKER

WORDS = ("Paris", "the Paris", "Rome", "Lyon", "Bonn", "Turin", "Oslo", "Kyiv", "Bern", "Riga", "Nice", "Metz")


def drawn_spans(seed: int, passages: int = 4, each: int = 6) -> list[Span]:
    """Spans of several passages, some of the same text; a passage's logits differ, as those of its windows do."""
    rng = np.random.default_rng(seed)
    spans = []
    for passage in range(passages):
        for place in range(each):
            text = str(rng.choice(WORDS))
            scores = {"span": float(rng.normal(-3, 2)), "passage_logit": float(rng.normal(passage, 1))}
            spans.append(Span(text, 20 * place, 20 * place + len(text), passage, scores["span"], scores))
    return sorted(spans, key=lambda span: -span.score)


def place_of(span: Span) -> tuple[int, int, int]:
    return span.passage_number, span.start, span.end


def row_of(seed: int, gold: str = "Paris", answerable: bool = True) -> Row:
    spans = drawn_spans(seed)
    right = [float(answerable and span.text.removeprefix("the ") == gold) for span in spans]
    retrieval = np.random.default_rng(seed + 1).random(4).tolist()
    hit = {"sentence_cosine": 0.5, "passage_cosine": 0.4, "sentence_bm25": 2.0, "passage_bm25": 3.0, "bm25_bound": 9.0}
    return {
        "answerable": answerable,
        "right": right,
        "f1": right,
        "spans": [[s.text, s.start, s.end, s.passage_number, s.scores["span"], s.scores["passage_logit"]] for s in spans],
        "holds": [],
        "hits": [[score, hit] for score in retrieval],
        "rescored": {f"{s.passage_number}:{s.start}-{s.end}": float(n % 5) for n, s in enumerate(spans)},
        "kind": CLASSIFIER,
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cells", [False, True])
def test_what_any_weights_put_first_is_reconsidered(seed: int, cells: bool) -> None:
    spans, retrieval = drawn_spans(seed), [0.3, 0.9, 0.1, 0.5]
    if cells:  # of each passage the spans of every third place became those before, as parts of a cell become the cell
        spans = [
            replace(span, text=cell.text, start=cell.start, end=cell.end)
            for span in spans
            for cell in spans
            if (cell.passage_number, cell.start // 20) == (span.passage_number, span.start // 20 // 3 * 3)
        ]
    also = Combination(selection=0.33, retrieval=20.0)
    numbers = {*reconsidered(spans, retrieval, also)}
    tried = [*itertools.product(SELECTION, RETRIEVAL), (0.33, 20.0)]
    for (selection, weight), aggregate in itertools.product(tried, (False, True)):
        weights = Combination(selection, weight, aggregate=aggregate)
        best = merge_equal_spans(spans, retrieval, weights)[:RESCORED]
        assert {place_of(answer.span) for answer in best} <= {place_of(spans[number]) for number in numbers}
    assert list(reconsidered([], [])) == []


def slow_score(rows: list[Row], weights: Combination, reranked: bool = False) -> float:
    values = []
    for row in rows:
        if row["answerable"]:
            answers = ranked_answers(row, weights, reranked)
            span = answers[0].span
            place = [(p, a, b) for _, a, b, p, *_ in row["spans"]].index((span.passage_number, span.start, span.end))
            values.append(row["right"][place])
    return 100 * sum(values) / len(values)


@pytest.mark.parametrize("kind", [None, CLASSIFIER, RERANKER])
@pytest.mark.parametrize("aggregate", [False, True])
def test_the_mean_is_that_of_the_first_answers(kind: str | None, aggregate: bool) -> None:
    rows = [{**row_of(seed, answerable=seed % 4 > 0), "kind": kind} for seed in range(40)]
    for weights in (
        Combination(aggregate=aggregate),
        Combination(0.25, 4.0, 2.5, rerank_spans=3, aggregate=aggregate),
        Combination(1.5, 0.0, rerank_spans=8, aggregate=aggregate, alone=True),
    ):
        assert mean_score(rows, weights, kind is not None) == pytest.approx(slow_score(rows, weights, kind is not None))
    assert mean_score([{**rows[1], "spans": []}, *rows], Combination(), False) < mean_score(rows, Combination(), False)


def test_the_best_weights_of_the_grid() -> None:
    rows = [row_of(seed, answerable=seed % 4 > 0) for seed in range(24)]
    start = Combination(aggregate=False)
    best = best_combination([rows], False, start)
    assert mean_score(rows, best, False) == pytest.approx(slow_score(rows, best))
    assert mean_score(rows, best, False) >= mean_score(rows, start, False)
    for name, values in (("selection", SELECTION), ("retrieval", RETRIEVAL), ("aggregate", (False, True))):
        for value in values:
            assert slow_score(rows, replace(best, **{name: value})) <= slow_score(rows, best)  # type: ignore[arg-type]


def test_a_weight_that_makes_no_difference_stays() -> None:
    """A reader without a head that selects passages gives all of them one logit."""
    rows = [row_of(seed) for seed in range(8)]
    for row in rows:
        for span in row["spans"]:
            span[5] = 0.0
    start = Combination(selection=0.77, retrieval=2.0)
    assert best_combination([rows], False, start).selection == 0.77
    scores = {mean_score(rows, replace(start, selection=value), False) for value in (0.0, 1.0, 5.0)}
    assert len(scores) == 1


def test_a_re_ranker_reorders_the_best() -> None:
    rows = [row_of(seed) for seed in range(6)]
    weights = Combination(rerank_spans=3, reranking=1.0)
    for row in rows:
        before, after = (ranked_answers(row, weights, reranked) for reranked in (False, True))
        assert {answer.span.text for answer in before[:3]} == {answer.span.text for answer in after[:3]}
        assert [answer.span for answer in before[3:]] == [answer.span for answer in after[3:]]
    best = best_combination([rows], True, weights)
    assert mean_score(rows, best, True) >= mean_score(rows, weights, True)


def test_judged_answers() -> None:
    rows = [row_of(0), {**row_of(1), "spans": [], "right": [], "f1": []}, row_of(2, answerable=False)]
    judged = judged_answers(rows, Combination(), False, ["span", "sentence_cosine"], 0.5)
    assert judged.x.shape == (2, 2)  # there is no answer to the second
    assert judged.x[:, 1].tolist() == [0.5, 0.5]
    assert judged.answerable.tolist() == [True, False]
    assert not judged.right[1]
    assert first_score(rows[1], []) == 0
    assert judged_answers([], Combination(), False, ["span"], 0.5).x.shape == (0, 1)
