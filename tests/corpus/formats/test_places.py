"""The text of blocks is found again in the file that it was read from."""

from __future__ import annotations

from oreqa.core import Place, place_after
from oreqa.corpus.formats.places import SourcePlaces


def test_text_that_stands_there_has_one_place() -> None:
    places = SourcePlaces("# Head\n\nOne two\nthree.\n")
    places.go_to(8)
    assert places.find("One two\nthree.") == [Place(0, "", 3, 8)]


def test_each_part_after_markup_has_its_place() -> None:
    source = "A *bold*  word\nand `code` here"
    text = "A bold word\nand code here"
    found = SourcePlaces(source).find(text)
    for start, word in ((text.index(word), word) for word in text.split()):
        place = max((place for place in found if place.start <= start), key=lambda place: place.start)
        assert place.source is not None
        at = place.source + start - place.start
        assert source[at : at + len(word)] == word
        assert place_after(place, text[place.start : start]).line == source.count("\n", 0, at) + 1


def test_lines_that_are_joined_keep_their_numbers() -> None:
    found = SourcePlaces("one\ntwo\nthree").find("one two three")
    assert [(place.start, place.line) for place in found] == [(0, 1), (4, 2), (8, 3)]


def test_text_that_is_not_there_stands_where_the_last_ended() -> None:
    places = SourcePlaces("one two")
    places.find("one")
    assert places.find("missing") == [Place(0, "", 1, 3)]
    assert SourcePlaces("").find("x") == [Place(0, "", 1, 0)]


def test_words_that_stand_once_lead_back_from_a_wrong_place() -> None:
    source = "\n".join(["-a all of it", *[f".B \\-o{n}\nword{n} of it then" for n in range(200)], "-b all of it", "the end"])
    places = SourcePlaces(source)
    for n in range(200):
        places.find("-b all of it")  # jumps to the end, where it does not stand
        (first, *_) = places.find(f"-o{n} word{n} of it then")
        assert first.line == 2 * n + 2 + (first.source == source.index(f"word{n} of"))
    assert places.find("word3 of it then the other file")[0].line == 9


def test_a_place_that_the_caller_knows_is_kept() -> None:
    places = SourcePlaces("one two three four\nfive\none two")
    places.go_to(19)
    assert places.find("one two three four")[0].line == 3
