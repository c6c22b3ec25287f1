from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from oreqa.errors import InputError
from oreqa.index.lexical import STEMMERS, Vocabulary, bm25_bound, bm25_scores, build_bm25, check_language, load_bm25, words


def test_words() -> None:
    assert words("The dogs were Running, 3.5 times!", "en") == ["the", "dog", "were", "run", "3", "5", "time"]
    assert words("Beyoncé’s café_bar ﬁne", "en") == words("beyonces cafe bar fine".replace("beyonces", "beyonce s"), "en")
    assert words("日本語 text", "xx") == ["日", "本", "語", "日本", "本語", "text"]
    assert words("3 猫 Kaffee", "xx") == ["3", "猫", "kaffee"]
    assert words("การเดินทาง", "th")[-2:] == ["ทา", "าง"]
    assert words("2⁶⁴ of 10⁶ m²", "en") == words("2^64 of 10^6 m2", "en")
    assert words("", "en") == []
    assert words("häuser", "de") == ["haus"]


def test_bm25_equals_its_formula(tmp_path: Path) -> None:
    texts = [["a", "b", "a"], ["b"], ["c", "c", "c", "d", "a"], []]
    vocabulary = Vocabulary()
    flat = vocabulary.number([word for text in texts for word in text])
    k1, b = 0.9, 0.4
    build_bm25(flat, np.array([len(t) for t in texts]), len(vocabulary), tmp_path / "m", k1, b)
    question = ["a", "c", "a"]
    scores = bm25_scores(load_bm25(tmp_path / "m"), vocabulary.number(question))
    mean = sum(map(len, texts)) / len(texts)

    def idf(word: str) -> float:
        df = sum(word in text for text in texts)
        return math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))

    expected = []
    for text in texts:
        counts = Counter(text)
        norm = k1 * (1 - b + b * len(text) / mean)
        expected.append(sum(idf(w) * counts[w] / (counts[w] + norm) for w in question))
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    bound = bm25_bound(load_bm25(tmp_path / "m"), vocabulary.number(question), unknown=1)
    assert bound == pytest.approx(2 * idf("a") + idf("c") + math.log(1 + (4 + 0.5) / 0.5), rel=1e-6)
    assert not bm25_scores(load_bm25(tmp_path / "m"), np.zeros(0, np.int32)).any()


def test_vocabulary_tells_what_is_new() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.number(["b", "c", "a", "c"]).tolist() == [1, 2, 0, 2]
    assert vocabulary.take_new() == [(2, "c")]
    assert vocabulary.take_new() == []


def test_equals_bm25s_own_index(tmp_path: Path) -> None:
    import bm25s

    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 50, rng.integers(1, 30)).tolist() for _ in range(40)]
    build_bm25(np.concatenate(texts).astype(np.int32), np.array([len(t) for t in texts]), 50, tmp_path / "m", 1.2, 0.75)
    own = bm25s.BM25(k1=1.2, b=0.75, method="lucene", backend="numpy")
    own.scores = own.build_index_from_ids(range(50), texts, show_progress=False)
    for question in ([3, 7, 7, 49], [0]):
        ids = np.array(question, np.int32)
        np.testing.assert_allclose(bm25_scores(load_bm25(tmp_path / "m"), ids), bm25_scores(own, ids), rtol=1e-5)


def test_languages_are_those_of_iso_639() -> None:
    for language in (*STEMMERS, "pl", "zh", "ast"):
        check_language(language)
    for wrong in ("xx", "english", "EN", "e", "", "de-AT"):
        with pytest.raises(InputError, match="is not a language code"):
            check_language(wrong)
