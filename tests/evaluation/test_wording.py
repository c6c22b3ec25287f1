from __future__ import annotations

import math
import re

import pytest

from oreqa.evaluation.generator import bleu_4, rouge_l, rouge_l_coco

pytest.importorskip("rouge_score")
pytest.importorskip("sacrebleu")

PAIRS = [
    ("Who wrote the Book of Stars?", "who wrote the book of stars"),
    ("Who wrote it?", "When was it written?"),
    ("", "Who?"),
    ("?", "!"),
    ("a b c d e", "b d a e c"),
    ("What is Ada's age", "What age is Ada"),
]


def subsequence(a: list[str], b: list[str]) -> int:
    """The longest common subsequence, slowly."""
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + subsequence(a[1:], b[1:])
    return max(subsequence(a[1:], b), subsequence(a, b[1:]))


def test_rouge_l_is_the_f1_of_the_longest_common_subsequence() -> None:
    for text, gold in PAIRS:
        a, b = ("".join(c if c.isalnum() else " " for c in s.lower()).split() for s in (text, gold))
        common = subsequence(a, b)
        slow = 2 * common / (len(a) + len(b)) if common else 0.0
        assert rouge_l([text], [gold]) == [pytest.approx(slow)]
    assert rouge_l([], []) == []


def test_rouge_l_as_published_counts_marks_and_weighs_recall() -> None:
    for text, gold in PAIRS:
        a, b = (re.sub(r"([^\w\s])", r" \1 ", s.lower()).split() for s in (text, gold))
        common = subsequence(a, b)
        slow = (1 + 1.44) * common / (len(b) * 1.44 + len(a)) if common else 0.0  # (1 + β²)PR / (R + β²P), shortened
        assert rouge_l_coco([text], [gold]) == [pytest.approx(slow)]
    assert rouge_l_coco([], []) == []


def test_bleu_4_counts_sequences_of_words_over_all_questions() -> None:
    texts, golds = ["the cat sat on the mat", "a dog ran fast today"], ["The cat sat on the rug", "A dog ran fast yesterday"]
    precisions = [(4 + 1 + 4) / 11, (4 + 3) / 9, (3 + 2) / 7, (2 + 1) / 5]
    assert bleu_4(texts, golds) == pytest.approx(100 * math.prod(precisions) ** 0.25)
    assert bleu_4(texts, texts) == pytest.approx(100)
    assert bleu_4([], []) == 0
