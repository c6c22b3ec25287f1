"""German compounds: texts and questions find each other where one writes apart what the other writes together."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.index.compounds import forms_to_count, possible_parts, split_compound, vocabulary_parts
from oreqa.index.in_memory import index_documents
from oreqa.index.lexical import words
from oreqa.index.search import Index
from oreqa.index.store import Settings

HELD = {"paket": 9, "verwalt": 4, "sich": 5, "kopi": 2, "paketverwalt": 1, "datei": 30, "system": 20, "dateisystem": 90}


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("paketverwalt", ("paket", "verwalt")),
        ("sicherheitskopi", ("sich", "kopi")),  # the stem of Sicherheit, and an s between
        ("dateisystem", None),  # commoner than its parts together
        ("paket", None),
        ("verwaltzeug", None),
        ("paket2verwalt", None),
        ("", None),
    ],
)
def test_a_compound_is_split_into_words_of_the_index(word: str, parts: tuple[str, str] | None) -> None:
    assert split_compound(word, HELD, "de") == parts
    known = {form: HELD[form] for form in forms_to_count([word], "de") if form in HELD}
    assert split_compound(word, known, "de") == parts


def test_a_part_has_four_letters_and_two_passages() -> None:
    assert {first for first, _ in possible_parts("abcdefghs")} == {"abcd", "abcde"}
    assert split_compound("wortzahl", {"wort": 2, "zahl": 2}, "de") == ("wort", "zahl")
    assert split_compound("wortzahl", {"wort": 2, "zahl": 1}, "de") is None


def test_the_words_of_an_index_that_are_compounds() -> None:
    passages_with = {"paket": 2, "verwalt": 2, "die": 1, "paketverwalt": 1, "hilft": 1}
    assert vocabulary_parts(passages_with, "de") == {"paketverwalt": ("paket", "verwalt")}


def test_an_index_in_german_finds_compounds(tmp_path: Path, tiny: Path) -> None:
    texts = [
        "Die Paketverwaltung hilft dabei.",
        "Ein Paket kommt an.",
        "Ohne Paket geht nichts.",
        "Eine Verwaltung hat Zimmer, mit einem Zimmer im Keller.",
        "Die Verwaltung ist im Zimmer.",
        "Der Hund schläft.",
    ]
    for language, first in (("de", texts[0]), ("en", None)):
        folder = tmp_path / language
        index_documents(folder, texts, Settings(model=str(tiny), language=language))
        with Index.open(folder) as index:
            hits = index.search("Verwaltung von Paketen", 1, mode="sparse")
            assert (hits[0].sentence.text == first) == (first is not None)
            together = {hit.sentence.text for hit in index.search("Paketzimmer", 9, mode="sparse")}
            assert together == ({*texts[:5]} if language == "de" else set())
            assert [hit.sentence.text for hit in index.search("Paketverwaltung", 9, mode="sparse")] == texts[:1]
    index_documents(tmp_path / "none", [], Settings(model=str(tiny), language="de"))
    with Index.open(tmp_path / "none") as index:
        assert index.search("Paketverwaltung", 1, mode="sparse") == []


def test_stems_are_those_of_the_index() -> None:
    assert words("Sicherheitskopien der Paketverwaltung", "de") == ["sicherheitskopi", "der", "paketverwalt"]


def test_words_that_nobody_writes_are_not_split() -> None:
    assert list(possible_parts("a" * 80))
    for word in ("a" * 81, "a" * 100_000, "abcd1efgh", "paket-verwaltung", "abc", ""):
        assert not list(possible_parts(word))
