from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from oreqa.datasets.pairs import Candidate
from oreqa.errors import ModelError
from oreqa.models.cross_encoder.inputs import MARKINGS, CrossEncoderInputs, Marking


def decoded(tiny: Path, ids: list[int]) -> str:
    tokenizer = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    return " ".join(tokenizer.id_to_token(i) for i in ids)


def inputs_of(tiny: Path, marking: Marking = "marked", tokens: int = 20) -> CrossEncoderInputs:
    return CrossEncoderInputs(tiny / "tokenizer.json", tokens, marking)


def test_marking(tiny: Path) -> None:
    candidate = Candidate("b c", "a b c d", "t")
    shown = {marking: decoded(tiny, inputs_of(tiny, marking).windows([("q", candidate)])[0].ids) for marking in MARKINGS}
    assert shown == {
        "alone": "[CLS] q [SEP] b c [SEP]",
        "marked": "[CLS] q [SEP] t [SEP] a [unused0] b c [unused1] d [SEP]",
        "unmarked": "[CLS] q [SEP] t [SEP] a b c d [SEP]",
        "appended": "[CLS] q [SEP] b c [SEP] t [SEP] a b c d [SEP]",
    }


def test_a_repeated_sentence_is_marked_where_it_stands(tiny: Path) -> None:
    first, second = (inputs_of(tiny).windows([("q", Candidate("a", "a b a", "", start))])[0].ids for start in (0, 4))
    assert decoded(tiny, first) == "[CLS] q [SEP] [unused0] a [unused1] b a [SEP]"
    assert decoded(tiny, second) == "[CLS] q [SEP] a b [unused0] a [unused1] [SEP]"


@pytest.mark.parametrize("place", [0, 1, 30, 58, 59])
def test_a_long_passage_is_cut_around_the_span(tiny: Path, place: int) -> None:
    inputs = inputs_of(tiny)
    passage = " ".join("x" if i != place else "y" for i in range(60))
    (window,) = inputs.windows([("q", Candidate("y", passage))])
    assert len(window.ids) == 20
    assert "[unused0] y [unused1]" in decoded(tiny, window.ids)
    first, last = (window.ids.index(inputs.token_id(mark)) for mark in ("[unused0]", "[unused1]"))
    before, after = first - window.first, window.last - 1 - last
    assert before + after == 13  # 20 tokens less [CLS] q [SEP] [SEP], the marks and what they mark
    if 7 <= place <= 52:  # as much before it as behind it, where the passage has as much
        assert abs(before - after) <= 1


LETTERS = "abcdefghijklmnopqrst"


@pytest.mark.parametrize("marking", MARKINGS)
@pytest.mark.parametrize(("question_words", "named"), [(1, 1), (70, 0), (0, 30), (70, 30), (20, 10), (3, 30)])
@pytest.mark.parametrize("shown", [1, 6, 12, 40])
def test_a_span_keeps_half_of_the_window(tiny: Path, marking: Marking, question_words: int, named: int, shown: int) -> None:
    inputs = inputs_of(tiny, marking, 24)
    question, title, passage = (
        " ".join("q" * question_words),
        " ".join("v" * named),
        " ".join("x" * 10 + LETTERS * 2 + "x" * 10),
    )
    candidate = Candidate(passage[20 : 19 + 2 * shown], passage, title, 20)
    (window,) = inputs.windows([(question, candidate)])
    assert len(window.ids) <= 24
    body = window.ids[window.first : window.last]
    wanted = inputs.tokenize([candidate.answer])[candidate.answer].ids
    visible = [token for token in wanted if token in body]
    assert len(visible) >= min(shown, 12 if marking != "appended" else 1)
    front = decoded(tiny, window.ids[: window.first]).split()
    # The title goes first: a question is cut only when there is no title left.
    assert front.count("q") == min(question_words, 64) or "v" not in front


@pytest.mark.parametrize(("question_words", "named"), [(1, 1), (64, 24), (70, 30), (10, 24)])
def test_what_fits_is_not_cut(tiny: Path, question_words: int, named: int) -> None:
    inputs = inputs_of(tiny, tokens=256)
    question, title, passage = " ".join("q" * question_words), " ".join("v" * named), " ".join(LETTERS * 15)
    tokens = inputs.tokenize([question, title])
    (window,) = inputs.windows([(question, Candidate(passage[:99], passage, title))])
    assert window.ids[: window.first] == [2, *tokens[question].ids[:64], 3, *tokens[title].ids[:24], 3]
    assert len(window.ids) <= 256


def test_a_missing_mark_is_reported(tiny: Path, tmp_path: Path) -> None:
    text = (tiny / "tokenizer.json").read_text().replace("[unused1]", "[other1]")
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(ModelError, match=r"no \[unused0\] and \[unused1\]"):
        CrossEncoderInputs(tmp_path / "tokenizer.json", 20, "marked")
    assert CrossEncoderInputs(tmp_path / "tokenizer.json", 20, "alone")
