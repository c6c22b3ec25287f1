from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from oreqa.models.generator.inputs import GeneratorInputs, MarkedAnswer, mark_answer
from oreqa.text.sentences import split_sentences

TEXT = "Bees dance. A bee has five eyes. It flies far. Ants do not. They walk."


def test_an_answer_is_shown_in_its_sentence_and_the_ones_beside_it() -> None:
    sentences = split_sentences(TEXT)
    for answer, context in (
        ("five", "Bees dance. A bee has five eyes. It flies far."),
        ("Bees", "Bees dance. A bee has five eyes."),
        ("walk", "Ants do not. They walk."),
        ("eyes. It", "Bees dance. A bee has five eyes. It flies far. Ants do not."),
    ):
        start = TEXT.index(answer)
        marked = mark_answer("Bees", TEXT, start, start + len(answer), sentences)
        assert (marked.context, marked.text, marked.title) == (context, answer, "Bees")
    assert mark_answer("", "  five  ", 2, 6, []).context == "  five  "


@given(st.text("ab. \n?東é", max_size=60), st.data())
def test_the_answer_keeps_its_characters(text: str, data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(text)))
    start = data.draw(st.integers(0, end))
    marked = mark_answer("", text, start, end, split_sentences(text))
    assert marked.text == text[start:end]
    assert marked.context in text


def test_a_style_that_was_learned_without_titles_sees_none(tiny_generator: Path) -> None:
    inputs = GeneratorInputs(tiny_generator / "tokenizer.json", 32, 8, ["story", "brief"], ["brief"])
    titled, bare = MarkedAnswer("t", "a b c", 0, 1), MarkedAnswer("", "a b c", 0, 1)
    assert inputs.prefixes([titled], ["brief"]) == inputs.prefixes([bare], ["brief"])
    assert inputs.prefixes([titled], ["story"]) != inputs.prefixes([bare], ["story"])


def test_what_is_nearest_to_the_answer_stays(tiny_generator: Path) -> None:
    inputs = GeneratorInputs(tiny_generator / "tokenizer.json", 16, 8, ["story"])
    for context in ("a b c d e f g h i j k l m n o p", "a b c", "x"):
        tokens = inputs.tokenize([context, "t i t l e"])
        for place in range(0, len(context), 2):
            ids = inputs.prefix(tokens["t i t l e"], tokens[context], place, place + 1, "story")
            assert ids is not None
            pieces = [inputs.tokenizer.id_to_token(i) for i in ids]
            assert len(pieces) == min(16, 10 + len(tokens[context].ids))
            assert pieces[:7] == ["[CLS]", "[unused2]", *"titl", "[SEP]"]  # a title takes a quarter at most
            answer = pieces.index("[unused0]")
            assert pieces[answer : answer + 3] == ["[unused0]", context[place], "[unused1]"]
            shown = " ".join(piece for piece in pieces[7:-1] if not piece.startswith("["))
            assert shown in context
    long = inputs.tokenize(["a b c d e f g h i j k l m n o p", ""])
    ids = inputs.prefix(long[""], long["a b c d e f g h i j k l m n o p"], 0, 31, "story")
    assert ids is not None
    assert len(ids) == 16
    assert inputs.prefix(long[""], long[""], 0, 0, "story") is None
