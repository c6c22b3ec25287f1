from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from oreqa.models.graph.windows import token_span
from oreqa.models.reader.inputs import ReaderInputs


@pytest.fixture
def inputs(tiny: Path) -> ReaderInputs:
    return ReaderInputs(tiny / "tokenizer.json", 20, overlap=4)


def decoded(tiny: Path, ids: list[int]) -> str:
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    return " ".join(tokenizer.id_to_token(i) for i in ids)


def test_one_window(inputs: ReaderInputs, tiny: Path) -> None:
    question, title, passage = inputs.tokenize(["a b", "t", "c d e"]).values()
    (window,) = inputs.windows(question, title, passage)
    assert decoded(tiny, window.ids) == "[CLS] a b [SEP] t [SEP] c d e [SEP]"
    assert window.segment == 4
    assert decoded(tiny, window.ids[window.first : window.last]) == "c d e"
    untitled, same = (inputs.windows(question, none, passage)[0].ids for none in (None, inputs.tokenize([""])[""]))
    assert untitled == same
    assert decoded(tiny, untitled) == "[CLS] a b [SEP] c d e [SEP]"


def test_windows_cover_the_passage_and_overlap(inputs: ReaderInputs) -> None:
    question, passage = inputs.tokenize(["a b", " ".join("abcdefghijklmnopqrstuvwxyz" * 3)]).values()
    windows = inputs.windows(question, None, passage)
    seen = [range(w.begin, w.begin + w.last - w.first) for w in windows]
    assert sorted({t for r in seen for t in r}) == list(range(len(passage.ids)))
    assert all(a.stop - b.start == 4 for a, b in pairwise(seen))
    for window in windows:
        assert len(window.ids) <= 20
        assert window.ids[window.first : window.last] == list(passage.ids[window.begin :][: window.last - window.first])


@pytest.mark.parametrize("tokens", [32, 64, 96, 160, 256])
def test_a_window_is_never_longer_and_always_has_room(tiny: Path, tokens: int) -> None:
    inputs = ReaderInputs(tiny / "tokenizer.json", tokens, overlap=4)
    question, title, passage = inputs.tokenize(
        [" ".join("a" * 90), " ".join("t" * 40), " ".join("abcdefghij" * 40)]
    ).values()
    windows = inputs.windows(question, title, passage)
    assert max(len(window.ids) for window in windows) == tokens
    assert windows[0].last - windows[0].first >= 0.4 * tokens - 4
    assert {t for w in windows for t in range(w.begin, w.begin + w.last - w.first)} == set(range(len(passage.ids)))
    if tokens >= 256:  # what the reader that comes with oreqa reads
        assert (windows[0].segment, windows[0].first) == (66, 66 + 25)


def test_a_passage_of_no_tokens_gives_one_window(inputs: ReaderInputs) -> None:
    question, passage = inputs.tokenize(["a", " "]).values()
    (window,) = inputs.windows(question, None, passage)
    assert window.first == window.last


def test_token_span_is_the_smallest_that_holds_the_characters(inputs: ReaderInputs) -> None:
    (tokens,) = inputs.tokenize(["ab  c"]).values()  # a ##b c
    assert np.array_equal(tokens.offsets, [[0, 1], [1, 2], [4, 5]])
    assert token_span(tokens, 0, 2) == (0, 1)
    assert token_span(tokens, 1, 5) == (1, 2)
    assert token_span(tokens, 2, 4) is None
    assert token_span(tokens, 0, 0) is None


def test_words_have_edges(inputs: ReaderInputs) -> None:
    (tokens,) = inputs.tokenize(["ab (cd)"]).values()  # a ##b ( c ##d )
    opens, closes = tokens.edges(0, 6)
    assert opens.tolist() == [True, False, True, True, False, True]
    assert closes.tolist() == [False, True, True, False, True, True]
    assert [edge.tolist() for edge in tokens.edges(1, 3)] == [[False, True], [True, True]]
    assert [edge.tolist() for edge in inputs.tokenize([""])[""].edges(0, 0)] == [[], []]


LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(("question_words", "named"), [(1, 1), (64, 24), (70, 30), (10, 24)])
def test_what_fits_is_not_cut(tiny: Path, question_words: int, named: int) -> None:
    inputs = ReaderInputs(tiny / "tokenizer.json", 256, overlap=64)
    texts = [" ".join("q" * question_words), " ".join("t" * named), " ".join(LETTERS * 12)]
    question, title, passage = inputs.tokenize(texts).values()
    front = [2, *question.ids[:64], 3, *title.ids[:24], 3]
    for window in inputs.windows(question, title, passage):
        assert window.ids[: window.first] == front
        assert len(window.ids) <= 256


@pytest.mark.parametrize("most", [8, 16, 48])
@pytest.mark.parametrize("overlap", [0, 4, 128])
def test_windows_of_small_models_hold_the_passage(tiny: Path, most: int, overlap: int) -> None:
    inputs = ReaderInputs(tiny / "tokenizer.json", most, overlap)
    question, title, passage = inputs.tokenize([" ".join("q" * 70), " ".join("t" * 30), " ".join(LETTERS * 4)]).values()
    windows = inputs.windows(question, title, passage)
    assert all(len(window.ids) <= most and window.last - window.first >= 1 for window in windows)
    assert {t for w in windows for t in range(w.begin, w.begin + w.last - w.first)} == set(range(len(passage.ids)))
    assert len(windows) < 4 * len(passage.ids) / (most // 2) + 2  # an overlap as long as the window does not halt it
