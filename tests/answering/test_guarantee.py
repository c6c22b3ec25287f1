"""Promises about the share of right answers: against exact binomial tests, and kept as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oreqa.answer import Answer
from oreqa.answering.guarantee import FEWEST_HELD_OUT, FORGIVEN, Guarantee, guarantee
from oreqa.core import Passage, Sentence
from oreqa.errors import InputError


def chance(right: int, number: int, share: float) -> float:
    """The probability of so many right answers or more, if a ``share`` is right on average."""
    return sum(math.comb(number, k) * share**k * (1 - share) ** (number - k) for k in range(right, number + 1))


def slow_guarantee(share: float, held_out: list[tuple[float, bool]]) -> Guarantee | None:
    """By the probability of each count; for probabilities that differ."""
    ranked = sorted(held_out, reverse=True)
    fewest = FORGIVEN
    while fewest < len(ranked) and chance(fewest - FORGIVEN, fewest, share) > 0.05:
        fewest += 1
    best = None
    for number in range(fewest, len(ranked) + 1):
        right = sum(is_right for _, is_right in ranked[:number])
        if chance(right, number, share) > 0.05:
            return best
        best = Guarantee(share, ranked[number - 1][0], len(held_out), number, right)
    return best


def drawn(seed: int, number: int, sharpness: float = 4.0) -> list[tuple[float, bool]]:
    """Answers whose probabilities hold."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0, 1, number) ** (1 / sharpness)
    return [(float(value), bool(draw < value)) for value, draw in zip(p, rng.uniform(0, 1, number), strict=True)]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9])
def test_it_is_the_last_threshold_that_an_exact_test_passes(share: float) -> None:
    outcomes = set()
    for seed in range(12):
        held_out = drawn(seed, 150)
        expected = slow_guarantee(share, held_out)
        outcomes.add(expected is None)
        if expected is None:
            with pytest.raises(InputError, match="no probability promises"):
                guarantee(share, held_out)
        else:
            assert guarantee(share, held_out) == expected
    assert False in outcomes


def test_a_promise_is_kept_as_often_as_it_says() -> None:
    """Of 600 samples from answers of which nearly 0.7 are right at any probability, few let 0.7 be promised."""
    rng, broken = np.random.default_rng(0), 0
    for _ in range(600):
        sample = [
            (float(p), bool(right))
            for p, right in zip(rng.uniform(0.1, 1, 120), rng.uniform(0, 1, 120) < 0.699, strict=True)
        ]
        try:
            guarantee(0.7, sample)
            broken += 1
        except InputError:
            pass
    assert broken <= 600 * 0.05 + 2 * math.sqrt(600 * 0.05 * 0.95)


def test_equal_probabilities_are_given_or_refused_together() -> None:
    right = [(0.9, True)] * 80 + [(0.6, True)] * 10 + [(0.6, False)] * 30
    promise = guarantee(0.9, right)
    assert promise == Guarantee(0.9, 0.9, 120, 80, 80)
    assert promise.coverage == pytest.approx(2 / 3)
    assert guarantee(0.6, right) == Guarantee(0.6, 0.6, 120, 120, 90)


def test_questions_without_an_answer_count_as_refused() -> None:
    promise = guarantee(0.8, [(0.7, True)] * 100 + [(0.0, False)] * 60)
    assert promise == Guarantee(0.8, 0.7, 160, 100, 100)


@pytest.mark.parametrize(("confidence", "is_covered"), [(0.7, True), (0.69, False), (None, False)])
def test_it_covers_answers_that_are_likely_enough(confidence: float | None, is_covered: bool) -> None:
    sentence = Sentence("Bees dance.", 0, 11)
    passage = Passage("bees.txt", "", "", sentence.text, 0, 11, (sentence,))
    answer = Answer("Bees", 0, 4, confidence, sentence, passage, 1.0, {})
    assert Guarantee(0.8, 0.7, 160, 100, 100).covers(answer) is is_covered


def test_what_cannot_be_promised() -> None:
    few = [(0.9, True)] * (FEWEST_HELD_OUT - 1)
    with pytest.raises(InputError, match=r"needs 100 questions .* there are 99: oreqa fit --index DIR --data FILE"):
        guarantee(0.5, few)
    with pytest.raises(InputError, match="of the 100 likeliest answers to 100 questions 0 are right"):
        guarantee(0.5, [(0.9, False)] * 100)
    with pytest.raises(
        InputError, match=r"of the 24 likeliest .* 19 are right, which promises 61% with 95% certainty; ask for"
    ):
        guarantee(0.7, [(1 - n / 1000, n % 5 > 0) for n in range(24)] + [(0.0, False)] * 100)
    with pytest.raises(InputError, match="of the 0 likeliest answers"):
        guarantee(0.5, [(0.0, False)] * 100)
    with pytest.raises(InputError, match="no probability promises 100% right"):
        guarantee(1.0, [(0.9, True)] * 200)
    with pytest.raises(InputError, match="must lie between 0 and 1"):
        guarantee(90, [(0.9, True)] * 200)
    assert guarantee(0.0, [(0.9, False)] * 100) == Guarantee(0.0, 0.9, 100, 100, 0)
