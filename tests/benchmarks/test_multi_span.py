"""MultiSpanQA's F1 against slow, obvious versions of its definitions."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from support.multi_span import counts, f1_difference, f1_scores


def longest(a: str, b: str) -> int:
    """The length of the longest string that both hold."""
    lengths = range(min(len(a), len(b)), 0, -1)
    return next((n for n in lengths if any(a[i : i + n] in b for i in range(len(a) - n + 1))), 0)


def slow(rows: list[tuple[list[str], list[str]]]) -> list[float]:
    """F1 of equal and of partly equal spans, in percent; texts are normalised already, and no text stands twice."""
    predicted, gold = sum(len(p) for p, _ in rows), sum(len(g) for _, g in rows)
    equal = sum(text in right for given, right in rows for text in given)
    precise = sum(max((longest(text, r) / len(text) for r in right), default=0) for given, right in rows for text in given)
    covered = sum(max((longest(text, r) / len(r) for text in given), default=0) for given, right in rows for r in right)
    scores = []
    for right_predicted, right_gold in ((equal, equal), (precise, covered)):
        precision, recall = right_predicted / predicted, right_gold / gold
        scores.append(200 * precision * recall / (precision + recall) if precision + recall else 0)
    return scores


def test_scores_equal_those_of_the_slow_version() -> None:
    rng = random.Random(1)
    words = ["tls", "ssh", "quic", "tls one", "ssh two", "two"]
    for _ in range(50):
        rows = [(rng.sample(words, rng.randint(0, 3)), rng.sample(words, rng.randint(1, 3))) for _ in range(5)]
        if any(given for given, _ in rows):
            scores = f1_scores([counts(*row) for row in rows])
            assert [scores["em_f1"], scores["partial_f1"]] == pytest.approx(slow(rows), abs=0.051)


def test_a_worked_example() -> None:
    scores = f1_scores([counts(["The TLS", "ssh 2"], ["tls", "SSH", "quic"])])
    assert (scores["em_precision"], scores["em_recall"]) == (50.0, 33.3)
    assert scores["partial_precision"] == 80.0  # all of tls, three of five characters of "ssh 2"
    assert scores["partial_recall"] == 66.7
    assert counts(["tls", "TLS", "the"], ["tls"]) == counts(["tls"], ["tls"])  # equal ones count once, empty ones not


def test_the_difference_is_that_of_the_scores_and_is_certain_where_every_question_gains() -> None:
    one = [counts(["tls"], ["tls", "ssh"]) for _ in range(30)]
    both = [counts(["tls", "ssh"], ["tls", "ssh"]) for _ in range(30)]
    mean, low, high = f1_difference(one, both)["em_f1"]
    assert mean == pytest.approx(f1_scores(both)["em_f1"] - f1_scores(one)["em_f1"], abs=0.1)
    assert low == high == mean
    assert f1_difference(one, one)["partial_f1"] == (0.0, 0.0, 0.0)
    mixed = f1_difference(one + both, both + one)["em_f1"]
    assert mixed[1] < 0 < mixed[2]
