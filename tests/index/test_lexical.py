from __future__ import annotations

import pytest

from oreqa.errors import InputError
from oreqa.index.lexical import STEMMERS, Vocabulary, check_language, words


def test_words() -> None:
    assert words("The dogs were Running, 3.5 times!", "en") == ["the", "dog", "were", "run", "3", "5", "time"]
    assert words("Beyoncé’s café_bar ﬁne", "en") == words("beyonces cafe bar fine".replace("beyonces", "beyonce s"), "en")
    assert words("日本語 text", "xx") == ["日", "本", "語", "日本", "本語", "text"]
    assert words("3 猫 Kaffee", "xx") == ["3", "猫", "kaffee"]
    assert words("การเดินทาง", "th")[-2:] == ["ทา", "าง"]
    assert words("2⁶⁴ of 10⁶ m²", "en") == words("2^64 of 10^6 m2", "en")
    assert words("", "en") == []
    assert words("häuser", "de") == ["haus"]


def test_words_are_numbered_as_they_come() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.number(["b", "c", "a", "c"]).tolist() == [0, 1, 2, 1]
    assert vocabulary.number(["d", "b"]).tolist() == [3, 0]
    assert dict(vocabulary.items()) == {"b": 0, "c": 1, "a": 2, "d": 3}


def test_languages_are_those_of_iso_639() -> None:
    for language in (*STEMMERS, "pl", "zh", "ast"):
        check_language(language)
    for wrong in ("xx", "english", "EN", "e", "", "de-AT"):
        with pytest.raises(InputError, match="is not a language code"):
            check_language(wrong)
