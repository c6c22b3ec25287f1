from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from oreqa.answering.combining import Combination, ScoredSpan, add_reranking, fitted_combination, merge_equal_spans
from oreqa.core import Span
from oreqa.models.fitted import COMBINED, Fitted, read_fitted
from oreqa.models.names import CLASSIFIER

WEIGHTS = Combination(selection=0.3, retrieval=2.0, reranking=0.7)


def span(text: str, passage: int, reading: float, selection: float, start: int = 0) -> Span:
    scores = {"span": reading, "passage_logit": selection}
    return Span(text, start, start + len(text), passage, reading, scores)


def slow_scores(spans: list[Span], retrieval: list[float], weights: Combination) -> dict[str, float]:
    """The score of every answer, lower-cased, from probabilities instead of their logarithms."""
    logits = {
        p: max(s.scores["passage_logit"] for s in spans if s.passage_number == p) for p in {s.passage_number for s in spans}
    }
    total = sum(math.exp(logit) for logit in logits.values())
    sums: dict[str, float] = {}
    for s in spans:
        selected = math.exp(logits[s.passage_number]) / total
        p = (
            math.exp(s.scores["span"])
            * selected**weights.selection
            * math.exp(weights.retrieval * retrieval[s.passage_number])
        )
        name = s.text.lower().removeprefix("the ")
        sums[name] = sums.get(name, 0.0) + p if weights.aggregate else max(sums.get(name, 0.0), p)
    return {name: math.log(p) for name, p in sums.items()}


def random_spans(rng: np.random.Generator) -> tuple[list[Span], list[float]]:
    logits = rng.normal(0, 3, 4)
    texts = ["fox", "Fox", "the fox", "dog", "house", "bone"]
    spans = []
    for start in range(12):
        passage = int(rng.integers(4))
        spans.append(span(texts[rng.integers(6)], passage, float(rng.normal(-3, 2)), float(logits[passage]), start))
    return spans, rng.normal(size=4).tolist()


@pytest.mark.parametrize("aggregate", [True, False])
def test_merged_scores_are_those_of_the_slow_sum(aggregate: bool) -> None:
    rng = np.random.default_rng(0)
    weights = replace(WEIGHTS, aggregate=aggregate)
    for _ in range(30):
        spans, retrieval = random_spans(rng)
        merged = merge_equal_spans(spans, retrieval, weights)
        scores = {candidate.span.text.lower().removeprefix("the "): candidate.score for candidate in merged}
        assert scores == pytest.approx(slow_scores(spans, retrieval, weights))
        assert [c.score for c in merged] == sorted(scores.values(), reverse=True)
        assert sum(1 + len(candidate.others) for candidate in merged) == len(spans)


def test_equal_answers_add_up_and_the_best_span_stands_for_them() -> None:
    spans = [span("fox", 0, -1.0, 0.0), span("dog", 0, -0.8, 0.0), span("The Fox", 1, -0.9, 0.0)]
    weights = replace(WEIGHTS, selection=0.0, retrieval=0.0)
    fox, dog = merge_equal_spans(spans, [0.0, 0.0], weights)
    assert (fox.span, fox.others) == (spans[2], (spans[0],))
    assert fox.score == pytest.approx(math.log(math.exp(-1.0) + math.exp(-0.9)))
    assert fox.scores["agreement"] == pytest.approx(fox.score + 0.9)
    assert (fox.scores["occurrences"], dog.scores["occurrences"]) == (2, 1)
    assert dog.scores["agreement"] == 0
    first, second = merge_equal_spans(spans, [0.0, 0.0], replace(weights, aggregate=False))
    assert (first.span, first.score) == (spans[1], -0.8)
    assert (second.span, second.score) == (spans[2], -0.9)


def test_the_selection_is_a_probability_among_the_passages_read() -> None:
    merged = merge_equal_spans(
        [span("fox", 0, 0.0, 2.0), span("dog", 1, 0.0, -1.0), span("cat", 2, 0.0, 0.5)], [0.0] * 3, WEIGHTS
    )
    assert sum(math.exp(candidate.scores["selection"]) for candidate in merged) == pytest.approx(1)
    assert {c.span.text: c.scores["passage_logit"] for c in merged} == {"fox": 2.0, "dog": -1.0, "cat": 0.5}


def test_what_the_retriever_prefers_gains() -> None:
    spans = [span("fox", 0, -1.0, 0.0), span("dog", 1, -1.0, 0.0)]
    assert [c.span.text for c in merge_equal_spans(spans, [0.2, 0.9], WEIGHTS)] == ["dog", "fox"]
    assert [c.span.text for c in merge_equal_spans(spans, [0.9, 0.2], WEIGHTS)] == ["fox", "dog"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_passage_read_in_several_windows_has_the_logit_of_its_best(order: tuple[int, int, int]) -> None:
    spans = [span("fox", 0, -1.0, 6.0), span("dog", 0, -2.0, -6.0, 9), span("cat", 1, -1.0, 0.0)]
    merged = merge_equal_spans([spans[place] for place in order], [0.0, 0.0], WEIGHTS)
    assert {c.span.text: c.scores["passage_logit"] for c in merged} == {"fox": 6.0, "dog": 6.0, "cat": 0.0}
    selected = 6.0 - math.log(math.exp(6) + 1)
    assert [c.scores["selection"] for c in merged if c.span.passage_number == 0] == pytest.approx([selected] * 2)


def candidates(*scores: float) -> list[ScoredSpan]:
    return [ScoredSpan(span(text, 0, 0.0, 0.0), score, {"x": 1.0}) for text, score in zip("abcdef", scores, strict=False)]


def test_reranked_scores_are_those_of_the_slow_sum() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        own = sorted(rng.normal(size=6).tolist(), reverse=True)
        scores = rng.normal(0, 3, 4).tolist()
        again = add_reranking(candidates(*own), scores, WEIGHTS)
        total = sum(math.exp(score) for score in scores)
        wanted = {text: a + 0.7 * math.log(math.exp(b) / total) for text, a, b in zip("abcd", own, scores, strict=False)}
        assert {c.span.text: c.score for c in again[:4]} == pytest.approx(wanted)
        assert [c.span.text for c in again] == [*sorted(wanted, key=lambda text: -wanted[text]), "e", "f"]
        assert [c.scores["before_span_reranker"] for c in again[:4]] == [own["abcd".index(c.span.text)] for c in again[:4]]
        assert [c.score for c in again[4:]] == own[4:]


def test_a_classifier_judges_each_answer_by_itself() -> None:
    logits = [2.0, -3.0, 40.0]
    again = add_reranking(candidates(4.0, 3.0, 2.0, 1.0), logits, WEIGHTS, CLASSIFIER)
    log_p = [-math.log1p(math.exp(-logit)) for logit in logits]
    wanted = {text: own + 0.7 * log for text, own, log in zip("abc", (4.0, 3.0, 2.0), log_p, strict=True)}
    assert {answer.span.text: answer.score for answer in again[:3]} == pytest.approx(wanted)
    assert [(answer.span.text, answer.scores["reranking_logit"]) for answer in again] == [
        ("a", 2.0),
        ("c", 40.0),
        ("b", -3.0),
        ("d", -3.0),
    ]
    assert again[3].scores["reranking"] == pytest.approx(log_p[1])  # no better than the worst that was judged


def test_the_re_ranker_alone_decides_by_its_highest_score() -> None:
    again = add_reranking(candidates(5.0, 4.0, 3.0), [-1.0, 2.0, 0.0], replace(WEIGHTS, alone=True))
    assert [c.span.text for c in again] == ["b", "c", "a"]
    assert sum(math.exp(c.score) for c in again) == pytest.approx(1)


def test_nothing_to_merge_or_to_rerank() -> None:
    assert merge_equal_spans([], [], WEIGHTS) == []
    assert add_reranking([], [], WEIGHTS) == []
    assert add_reranking(candidates(1.0), [], WEIGHTS) == candidates(1.0)


def test_weights_come_with_the_models_and_are_plain_without(fitted_reader: Path, fitted_reranker: Path) -> None:
    reader, reranker, plain = read_fitted(fitted_reader), read_fitted(fitted_reranker), Fitted()
    assert fitted_combination(plain, plain) == fitted_combination(plain) == Combination(1, 1, 1, rerank_spans=5)
    assert fitted_combination(reader) == Combination(selection=1.0, retrieval=8.0)
    assert fitted_combination(reader, reranker) == Combination(1.0, 8.0, 1.0)
    assert fitted_combination(plain, reranker) == Combination(reranking=1.0)


def test_all_that_a_file_may_set_is_a_weight_of_the_combination() -> None:
    assert asdict(Combination()).keys() == {*COMBINED, "alone"}
