from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from oreqa.arrays import Floats
from oreqa.index.best import best_sentences
from oreqa.index.bm25 import Bm25
from oreqa.index.postings import (
    LivePostings,
    Postings,
    joined,
    live_words,
    mapped_postings,
    postings_of,
    renumbered,
    write_postings,
)

A, B, C, D, UNKNOWN = range(5)
TEXTS = [[A, B, A], [B], [C, C, C, D, A], [], [D, B]]
K1, SHARE = 0.9, 0.4


def postings(texts: Sequence[Sequence[int]]) -> Postings:
    terms = np.array([number for text in texts for number in text], np.int32)
    return postings_of((terms, np.array([len(text) for text in texts], np.int64)))


def slow(texts: Sequence[Sequence[int]], question: Sequence[int]) -> list[float]:
    """BM25 by its formula."""
    mean, scores = sum(map(len, texts)) / len(texts), []
    for text in texts:
        counts, norm = Counter(text), K1 * (1 - SHARE + SHARE * len(text) / mean)
        scores.append(sum(idf(texts, word) * counts[word] / (counts[word] + norm) for word in question))
    return scores


def idf(texts: Sequence[Sequence[int]], word: int) -> float:
    df = sum(word in text for text in texts)
    return math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))


@pytest.mark.parametrize("question", [[A, C, A], [D], [UNKNOWN, B], []])
def test_scores_are_those_of_the_formula(question: list[int]) -> None:
    bm25, numbers = Bm25([LivePostings.of(postings(TEXTS))], K1, SHARE), np.array(question, np.int32)
    expected = slow(TEXTS, question)
    np.testing.assert_allclose(bm25.scores(numbers), expected, rtol=1e-5)
    np.testing.assert_allclose(bm25.scores_of(numbers, np.array([0, 2, 4])), np.array(expected)[[0, 2, 4]], rtol=1e-5)
    assert bm25.bound(numbers, 1) == pytest.approx(sum(idf(TEXTS, w) for w in question) + idf(TEXTS, UNKNOWN))


def random_texts(count: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [(rng.integers(0, 30, rng.integers(0, 20)) ** 2 // 30).tolist() for _ in range(count)]


def test_new_numbers_of_words_are_those_of_renumbered_texts() -> None:
    texts = random_texts(50, 1)
    new = np.random.default_rng(2).permutation(60)[:30].astype(np.int32)
    moved = renumbered(postings(texts), np.arange(30, dtype=np.int32), new)
    expected = postings([[int(new[word]) for word in text] for text in texts])
    for name in ("words", "starts", "rows", "counts", "lengths"):
        np.testing.assert_array_equal(getattr(moved, name), getattr(expected, name))


def in_parts(texts: list[list[int]], dead: set[int], sizes: Sequence[int]) -> Bm25:
    """The texts in parts of these sizes, of which some are dead."""
    parts, begin = [], 0
    for size in sizes:
        rows = np.array([row - begin for row in sorted(dead) if begin <= row < begin + size], np.intp)
        parts.append(LivePostings.of(postings(texts[begin : begin + size]), rows))
        begin += size
    return Bm25(parts, K1, SHARE)


@pytest.mark.parametrize("sizes", [(60,), (20, 1, 39), (1, 59), (0, 60)])
@pytest.mark.parametrize("dead", [set(), {0, 20, 59}, {20, *range(30, 60)}])
def test_parts_with_dead_texts_give_the_scores_of_the_rest_in_one(sizes: Sequence[int], dead: set[int]) -> None:
    texts = random_texts(60, 1)
    live = [text for row, text in enumerate(texts) if row not in dead]
    whole, several = Bm25([LivePostings.of(postings(live))], K1, SHARE), in_parts(texts, dead, sizes)
    assert len(several) == len(live)
    for question in ([3, 7, 7, 29], [0], [1, 28, 50]):
        numbers = np.array(question, np.int32)
        expected: Floats = whole.scores(numbers)
        assert several.scores(numbers).tolist() == expected.tolist()
        places = np.arange(0, len(live), 2)
        assert several.scores_of(numbers, places).tolist() == expected[places].tolist()
        assert several.bound(numbers, 2) == whole.bound(numbers, 2)
    for number in range(30):
        rows = [row for row, text in enumerate(live) if number in text]
        assert several.texts_with(number) == len(rows)
        assert several.first_with(number, 2) == rows[:2]


@pytest.mark.parametrize("sizes", [(40,), (15, 25)])
def test_a_text_with_a_compound_holds_its_parts(sizes: Sequence[int]) -> None:
    texts, split = random_texts(40, 2), {20: (1, 2), 12: (1, 1), 9: (20, 5)}
    with_parts = [[w for word in text for w in (word, *split.get(word, ()))] for text in texts]
    compounds: dict[int, list[int]] = {}
    for compound, pair in split.items():
        for part in pair:
            compounds.setdefault(part, []).append(compound)
    parts, begin = [], 0
    for size in sizes:
        parts.append(LivePostings.of(postings(texts[begin : begin + size])))
        begin += size
    bm25 = Bm25(parts, K1, SHARE, compounds)
    for question in ([1, 2], [20, 5], [12, 9, 0]):
        numbers = np.array(question, np.int32)
        np.testing.assert_allclose(bm25.scores(numbers), slow(with_parts, question), rtol=1e-5)
        assert bm25.scores_of(numbers, np.arange(40)).tolist() == bm25.scores(numbers).tolist()


@pytest.mark.parametrize("texts", [TEXTS, [], [[]], random_texts(50, 3)])
def test_postings_come_back_from_their_file(texts: list[list[int]], tmp_path: Path) -> None:
    written = postings(texts)
    write_postings(written, tmp_path / "words.npy")
    mapped = mapped_postings(tmp_path / "words.npy", len(texts))
    for name in Postings.__slots__:
        assert getattr(mapped, name).tolist() == getattr(written, name).tolist()
    with pytest.raises(ValueError, match=f"words of {len(texts) + 1} texts"):
        mapped_postings(tmp_path / "words.npy", len(texts) + 1)


def test_equals_bm25s() -> None:
    bm25s = pytest.importorskip("bm25s")
    texts = [text or [1] for text in random_texts(40, 0)]
    other = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend="numpy")
    other.scores = other.build_index_from_ids(range(30), texts, show_progress=False)
    ours = Bm25([LivePostings.of(postings(texts))], 1.2, 0.75)
    for question in ([3, 7, 7, 28], [0]):
        numbers = np.array(question, np.int32)
        np.testing.assert_allclose(ours.scores(numbers), other.get_scores_from_ids(numbers), rtol=1e-5)


@pytest.mark.parametrize("dead", [set(), {0, 2}, set(range(30))])
@pytest.mark.parametrize("new", [0, 1, 25])
def test_postings_that_are_joined_are_those_of_all_texts(dead: set[int], new: int) -> None:
    old, others = random_texts(30, 4), random_texts(new, 5)
    part = LivePostings.of(postings(old), np.array(sorted(dead), np.intp))
    whole = postings([*(text for row, text in enumerate(old) if row not in dead), *others])
    together = joined([part, LivePostings.of(postings(others))])
    for name in Postings.__slots__:
        assert getattr(together, name).tolist() == getattr(whole, name).tolist()
        assert getattr(together, name).dtype == getattr(whole, name).dtype


@pytest.mark.parametrize("dead", [set(), {0, 2}, set(range(30))])
def test_the_words_of_live_texts(dead: set[int]) -> None:
    texts = random_texts(30, 6)
    live = postings([text for row, text in enumerate(texts) if row not in dead])
    words, counts = live_words(LivePostings.of(postings(texts), np.array(sorted(dead), np.intp)))
    assert words.tolist() == live.words.tolist()
    assert counts.tolist() == np.diff(live.starts).tolist()


@pytest.mark.parametrize("count", [1, 5, 40, 1000])
@pytest.mark.parametrize("share", [None, 0.3])
def test_the_best_texts_are_those_of_the_highest_scores(count: int, share: float | None) -> None:
    draw = np.random.default_rng(count)
    sizes = (500, 80, 20)
    texts = [np.minimum(draw.zipf(1.3, draw.integers(1, 30)), 400).tolist() for _ in range(sum(sizes))]
    parts, begin = [], 0
    for size in sizes:
        dead = np.sort(draw.choice(size, size // 10, replace=False)) if size > 20 else None
        parts.append(LivePostings.of(postings(texts[begin : begin + size]), dead))
        begin += size
    bm25 = Bm25(parts, K1, SHARE, {3: [7, 400]})
    allowed = None if share is None else draw.random(len(bm25)) < share
    for _ in range(40):
        numbers = np.minimum(draw.zipf(1.3, draw.integers(1, 9)), 401).astype(np.int32)
        scores = bm25.scores_of(numbers, np.arange(len(bm25)))
        scores[scores == 0] = -np.inf
        if allowed is not None:
            scores[~allowed] = -np.inf
        assert bm25.best(numbers, count, allowed).tolist() == best_sentences(scores, count).tolist()


def test_common_words_are_looked_up_in_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    bm25 = Bm25([LivePostings.of(postings([[A, B] if n % 40 == 0 else [A, C] for n in range(4000)]))], K1, SHARE)
    counted: list[int] = []
    add = Bm25._add
    monkeypatch.setattr(
        Bm25, "_add", lambda self, scores, number, *rest: counted.append(number) or add(self, scores, number, *rest)
    )
    assert bm25.best(np.array([A, B], np.int32), 10).tolist() == [40 * n for n in range(10)]
    assert counted == [B]


def test_each_common_word_leaves_fewer_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text with A, B and C beats all others, which no sum of A and the rest of the words' weights could rule out alone."""
    texts = [[A] * (n % 40 == 0) + [B] * (n % 20 == 0) + [C] * (n % 10 == 0) + [4] for n in range(4000)]
    bm25 = Bm25([LivePostings.of(postings(texts[:2500])), LivePostings.of(postings(texts[2500:]))], K1, SHARE)
    scored: list[int] = []
    scores_of = Bm25.scores_of
    monkeypatch.setattr(
        Bm25, "scores_of", lambda self, numbers, places: scored.append(len(places)) or scores_of(self, numbers, places)
    )
    assert bm25.best(np.array([A, B, C, 4], np.int32), 10).tolist() == [40 * n for n in range(10)]
    assert scored == [100]
