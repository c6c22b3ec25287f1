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


def test_vocabulary_tells_what_is_new() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.number(["b", "c", "a", "c"]).tolist() == [1, 2, 0, 2]
    assert vocabulary.take_new() == [(2, "c")]
    assert vocabulary.take_new() == []


def test_languages_are_those_of_iso_639() -> None:
    for language in (*STEMMERS, "pl", "zh", "ast"):
        check_language(language)
    for wrong in ("xx", "english", "EN", "e", "", "de-AT"):
        with pytest.raises(InputError, match="is not a language code"):
            check_language(wrong)
