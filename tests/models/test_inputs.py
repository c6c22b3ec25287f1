from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from oreqa.core import Span
from oreqa.errors import ModelError
from oreqa.models.inputs import InputMaker, token_span


@pytest.fixture
def maker(tiny: Path) -> InputMaker:
    return InputMaker(tiny / "tokenizer.json", 20, overlap=4)


def decoded(tiny: Path, ids: list[int]) -> str:
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    return " ".join(tokenizer.id_to_token(i) for i in ids)


def test_one_window(maker: InputMaker, tiny: Path) -> None:
    question, title, passage = maker.tokenize(["a b", "t", "c d e"])
    (window,) = maker.windows(question, title, passage)
    assert decoded(tiny, window.ids) == "[CLS] a b [SEP] t [SEP] c d e [SEP]"
    assert window.segment == 4
    assert decoded(tiny, window.ids[window.first : window.last]) == "c d e"
    untitled, same = (maker.windows(question, none, passage)[0].ids for none in (None, maker.tokenize([""])[0]))
    assert untitled == same
    assert decoded(tiny, untitled) == "[CLS] a b [SEP] c d e [SEP]"


def test_windows_cover_the_passage_and_overlap(maker: InputMaker) -> None:
    question, passage = maker.tokenize(["a b", " ".join("abcdefghijklmnopqrstuvwxyz" * 3)])
    windows = maker.windows(question, None, passage)
    seen = [range(w.begin, w.begin + w.last - w.first) for w in windows]
    assert sorted({t for r in seen for t in r}) == list(range(len(passage.ids)))
    assert all(a.stop - b.start == 4 for a, b in pairwise(seen))
    for window in windows:
        assert len(window.ids) <= 20
        assert window.ids[window.first : window.last] == list(passage.ids[window.begin :][: window.last - window.first])


@pytest.mark.parametrize("tokens", [32, 64, 96, 160, 256])
def test_a_window_is_never_longer_and_always_has_room(tiny: Path, tokens: int) -> None:
    maker = InputMaker(tiny / "tokenizer.json", tokens, overlap=4)
    question, title, passage = maker.tokenize([" ".join("a" * 90), " ".join("t" * 40), " ".join("abcdefghij" * 40)])
    windows = maker.windows(question, title, passage)
    assert max(len(window.ids) for window in windows) == tokens
    assert windows[0].last - windows[0].first >= 0.4 * tokens - 4
    assert {t for w in windows for t in range(w.begin, w.begin + w.last - w.first)} == set(range(len(passage.ids)))
    if tokens >= 256:  # what the reader that comes with oreqa reads
        assert (windows[0].segment, windows[0].first) == (66, 66 + 25)


def test_a_passage_of_no_tokens_gives_one_window(maker: InputMaker) -> None:
    question, passage = maker.tokenize(["a", " "])
    (window,) = maker.windows(question, None, passage)
    assert window.first == window.last


def test_token_span_is_the_smallest_that_holds_the_characters(maker: InputMaker) -> None:
    (tokens,) = maker.tokenize(["ab  c"])  # a ##b c
    assert np.array_equal(tokens.offsets, [[0, 1], [1, 2], [4, 5]])
    assert token_span(tokens, 0, 2) == (0, 1)
    assert token_span(tokens, 1, 5) == (1, 2)
    assert token_span(tokens, 2, 4) is None
    assert token_span(tokens, 0, 0) is None


def test_words_have_edges(maker: InputMaker) -> None:
    (tokens,) = maker.tokenize(["ab (cd)"])  # a ##b ( c ##d )
    opens, closes = tokens.edges(0, 6)
    assert opens.tolist() == [True, False, True, True, False, True]
    assert closes.tolist() == [False, True, True, False, True, True]
    assert [edge.tolist() for edge in tokens.edges(1, 3)] == [[False, True], [True, True]]
    assert [edge.tolist() for edge in maker.tokenize([""])[0].edges(0, 0)] == [[], []]


def span(start: int, end: int) -> Span:
    return Span("", start, end, 0, 0.0, {})


def test_marking(maker: InputMaker, tiny: Path) -> None:
    question, title, passage = maker.tokenize(["q", "t", "a b c d"])
    shown = {
        marking: decoded(tiny, maker.marked(question, title, passage, span(2, 5), marking).ids)
        for marking in ("marked", "unmarked", "appended")
    }
    assert shown == {
        "marked": "[CLS] q [SEP] t [SEP] a [unused0] b c [unused1] d [SEP]",
        "unmarked": "[CLS] q [SEP] t [SEP] a b c d [SEP]",
        "appended": "[CLS] q [SEP] b c [SEP] t [SEP] a b c d [SEP]",
    }


@pytest.mark.parametrize("place", [0, 1, 30, 58, 59])
def test_a_long_passage_is_cut_around_the_span(maker: InputMaker, tiny: Path, place: int) -> None:
    question, passage = maker.tokenize(["q", " ".join("x" if i != place else "y" for i in range(60))])
    window = maker.marked(question, None, passage, span(2 * place, 2 * place + 1))
    assert len(window.ids) == 20
    assert "[unused0] y [unused1]" in decoded(tiny, window.ids)
    first, last = (window.ids.index(maker.token_id(mark)) for mark in ("[unused0]", "[unused1]"))
    before, after = first - window.first, window.last - 1 - last
    assert before + after == 13  # 20 tokens less [CLS] q [SEP] [SEP], the marks and what they mark
    if 7 <= place <= 52:  # as much before it as behind it, where the passage has as much
        assert abs(before - after) <= 1


LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("marking", ["marked", "unmarked", "appended", "alone"])
@pytest.mark.parametrize(("asked", "named"), [(1, 1), (70, 0), (0, 30), (70, 30), (20, 10), (3, 30)])
@pytest.mark.parametrize("shown", [1, 6, 12, 40])
def test_a_span_keeps_half_of_the_window(tiny: Path, marking: str, asked: int, named: int, shown: int) -> None:
    maker = InputMaker(tiny / "tokenizer.json", 24, overlap=4)
    question, title = maker.tokenize([" ".join("q" * asked), " ".join("t" * named)])
    (passage,) = maker.tokenize([" ".join("x" * 10 + LETTERS[:20] * 2 + "x" * 10)])
    window = maker.marked(question, title, passage, span(20, 20 + 2 * shown - 1), marking)
    assert len(window.ids) <= 24
    body = window.ids[window.first : window.last]
    visible = [i for i in passage.ids[10 : 10 + shown] if i in body]
    assert len(visible) >= min(shown, 12 if marking != "appended" else 1)
    front = decoded(tiny, window.ids[: window.first]).split()
    # The title goes first: a question is cut only when there is no title left.
    assert front.count("q") == min(asked, 64) or "t" not in front


@pytest.mark.parametrize(("asked", "named"), [(1, 1), (64, 24), (70, 30), (10, 24)])
def test_what_fits_is_not_cut(tiny: Path, asked: int, named: int) -> None:
    maker = InputMaker(tiny / "tokenizer.json", 256, overlap=64)
    texts = [" ".join("q" * asked), " ".join("t" * named), " ".join(LETTERS * 12)]
    question, title, passage = maker.tokenize(texts)
    front = [2, *question.ids[:64], 3, *title.ids[:24], 3]
    for window in (*maker.windows(question, title, passage), maker.marked(question, title, passage, span(0, 99))):
        assert window.ids[: window.first] == front
        assert len(window.ids) <= 256


@pytest.mark.parametrize("most", [8, 16, 48])
@pytest.mark.parametrize("overlap", [0, 4, 128])
def test_windows_of_small_models_hold_the_passage(tiny: Path, most: int, overlap: int) -> None:
    maker = InputMaker(tiny / "tokenizer.json", most, overlap)
    question, title, passage = maker.tokenize([" ".join("q" * 70), " ".join("t" * 30), " ".join(LETTERS * 4)])
    windows = maker.windows(question, title, passage)
    assert all(len(window.ids) <= most and window.last - window.first >= 1 for window in windows)
    assert {t for w in windows for t in range(w.begin, w.begin + w.last - w.first)} == set(range(len(passage.ids)))
    assert len(windows) < 4 * len(passage.ids) / (most // 2) + 2  # an overlap as long as the window does not halt it


def test_a_missing_mark_is_told(maker: InputMaker) -> None:
    with pytest.raises(ModelError, match=r"no \[unused7\]"):
        maker.token_id("[unused7]")
