from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oreqa.core import Document, Place, Section
from oreqa.corpus import limits
from oreqa.corpus.splitter import paragraph_passage, sentence_at, split_passages
from oreqa.errors import DocumentError


def count(texts: Sequence[str]) -> list[int]:
    """A tokenizer whose tokens are words of at most four letters."""
    return [sum(-(-len(word) // 4) for word in text.split()) for text in texts]


def cut(text: str, limit: int, title: str = "", sections: tuple[Section, ...] = ()) -> list[str]:
    return [p.text for p in split_passages(Document("d", title, text, sections), count, limit)]


def test_whole_paragraphs_are_joined_while_they_fit() -> None:
    assert cut("a b c\n\nd e\n\nf g h", 5) == ["a b c\n\nd e", "f g h"]


def test_rows_that_name_their_columns_are_passages_of_their_own() -> None:
    text = "Prices:\n\nname: kettle; price: 3\n\nname: pot; price: 4\n\nLast.\n\nEnd."
    assert cut(text, 50) == ["Prices:", "name: kettle; price: 3", "name: pot; price: 4", "Last.\n\nEnd."]
    assert cut("Row:\nname: kettle; price: 3\n\nLast.", 50) == ["Row:\nname: kettle; price: 3\n\nLast."]


def test_long_paragraph_is_cut_between_sentences() -> None:
    assert cut("We ran. They hid. Then all left.", 4) == ["We ran. They hid.", "Then all left."]


def test_long_sentence_is_cut_between_words_and_long_words_inside() -> None:
    assert cut("a b c d e", 2) == ["a b", "c d", "e"]
    assert cut("x" * 100, 10) == ["x" * 40, "x" * 40, "x" * 20]


def test_title_takes_its_share() -> None:
    assert cut("a b c d", 4) == ["a b c d"]
    assert cut("a b c d", 4, title="t") == ["a b c", "d"]
    # However long the title, half of the tokens are left.
    assert cut("a b c d", 4, title="t " * 50) == ["a b", "c d"]


def test_passages_keep_to_sections() -> None:
    sections = (Section(0, 3, ""), Section(6, 9, "H"))
    passages = split_passages(Document("d", "", "a b\nH\nc d", sections), count, 50)
    assert [(p.text, p.heading, p.start) for p in passages] == [("a b", "", 0), ("c d", "H", 6)]


def test_nothing_gives_nothing() -> None:
    assert cut("", 5) == []
    assert cut(" \n\n \n", 5) == []


@given(st.text(alphabet="ab. \n!", max_size=200), st.integers(1, 12))
def test_every_passage_fits_and_slices_exactly(text: str, limit: int) -> None:
    document = Document("d", "", text)
    passages = split_passages(document, count, limit)
    end = 0
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        assert passage.start >= end
        end = passage.end
        assert count([passage.text])[0] <= max(limit, 10)  # a word of 40 letters is 10 tokens
        assert passage.sentences
        for sentence in passage.sentences:
            assert text[sentence.start : sentence.end] == sentence.text
    kept = "".join(passage.text for passage in passages)
    assert kept.count("a") == text.count("a")
    assert kept.count("b") == text.count("b")


def test_paragraph_passage_takes_given_sentences() -> None:
    passage = paragraph_passage(Document("d", "t", "One two. Three."), sentences=[(0, 3), (4, 15)])
    assert [s.text for s in passage.sentences] == ["One", "two. Three."]
    assert [s.text for s in paragraph_passage(Document("d", "t", "One two. Three.")).sentences] == ["One two.", "Three."]


def test_what_has_no_tokens_makes_no_passage() -> None:
    def no_marks(texts: Sequence[str]) -> list[int]:
        return count([text.replace("\u200b", "") for text in texts])

    document = Document("d", "", "a b\n\n\u200b\n\n" + "\u200b" * 5000, (Section(0, 3, ""), Section(5, 5008, "Notes")))
    assert [p.text for p in split_passages(document, no_marks, 10)] == ["a b"]


def test_a_long_text_of_few_tokens_is_cut_by_its_characters() -> None:
    def words(texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    passages = split_passages(Document("d", "", "x" * 10_000), words, 10)
    assert "".join(p.text for p in passages) == "x" * 10_000
    assert max(len(p.text) for p in passages) == 10 * 40


def test_the_tokenizer_is_given_little_at_once() -> None:
    most = 0

    def watched(texts: Sequence[str]) -> list[int]:
        nonlocal most
        most = max(most, sum(map(len, texts)))
        return count(texts)

    split_passages(Document("d", "", "One two three four. " * 10_000 + "\n\n" + "Five six.\n\n" * 10_000), watched, 50)
    assert most < 20_000


@pytest.mark.parametrize("text", ["One paragraph.", "Paragraph.\n\n" * 100, "One two three. " * 100])
def test_cutting_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(limits, "PARSE_SECONDS", -1)
    with pytest.raises(DocumentError, match=r"^cutting d into passages takes more than -1 seconds: split it$"):
        split_passages(Document("d", "", text), count, 5)


def test_a_paragraph_with_a_colon_goes_with_the_next() -> None:
    assert cut("a b c\n\nd e:\n\nf g h", 6) == ["a b c", "d e:\n\nf g h"]
    assert cut("a b c\n\nd e:\n\nf g h", 4) == ["a b c", "d e:", "f g h"]
    assert cut("a:\n\nb:\n\nc\n\nd", 3) == ["a:\n\nb:\n\nc", "d"]
    assert cut("last:", 4) == ["last:"]


def test_passages_have_the_places_of_their_text() -> None:
    text = "one\ntwo\n\nthree\nfour"
    places = (Place(0, "", 1, 10), Place(9, "", 7, 70))
    passages = split_passages(Document("d", "", text, places=places), count, 2)
    assert [(p.text, p.places) for p in passages] == [
        ("one\ntwo", (Place(0, "", 1, 10),)),
        ("three", (Place(9, "", 7, 70),)),
        ("four", (Place(15, "", 8, 76),)),
    ]
    first = passages[0].place(4)
    assert first == Place(4, "", 2, 14)
    pages = (Place(0, "page 1"), Place(5, "page 2"))
    (passage,) = split_passages(Document("d", "", text, places=pages), count, 50)
    assert [passage.place(offset).name for offset in (0, 4, 5, 18)] == ["page 1", "page 1", "page 2", "page 2"]  # type: ignore[union-attr]
    assert split_passages(Document("d", "", "a"), count, 5)[0].place(0) is None


def test_the_sentence_at_a_character_of_a_passage() -> None:
    *_, passage = split_passages(Document("d", "", "Owls hoot.\n\n" + "We ran. They hid.  Then all left."), count, 8)
    assert passage.start > 0
    for place in range(len(passage.text)):
        started = [n for n, sentence in enumerate(passage.sentences) if sentence.start - passage.start <= place]
        assert sentence_at(passage, place) == started[-1]
    assert sentence_at(passage, -5) == 0
