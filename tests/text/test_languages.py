from __future__ import annotations

import pytest

import oreqa.text.languages
from oreqa.text.languages import LANGUAGES, foreign_language
from oreqa.text.stop_words import STOP_WORDS

QUESTIONS = {
    "de": "Wie viele Herzen hat ein Oktopus?",
    "fr": "Combien de coeurs a une pieuvre ?",
    "es": "¿Cuántos corazones tiene un pulpo?",
    "it": "Quanti cuori ha un polpo?",
    "nl": "Hoeveel harten heeft een octopus?",
    "sv": "Hur många hjärtan har en bläckfisk?",
    "pt": "Quantos corações tem um polvo?",
    "cs": "Kolik srdcí má chobotnice?",
    "ja": "タコの心臓はいくつありますか？",
    "zh": "章鱼有几颗心脏？",
    "th": "หมึกมีหัวใจกี่ดวง",
}


@pytest.mark.parametrize(("code", "question"), QUESTIONS.items(), ids=list(QUESTIONS))
def test_questions_in_other_languages(code: str, question: str) -> None:
    assert foreign_language(question) == code
    assert code in LANGUAGES


SHORT = {
    "de": ("Wo liegt Berlin?", "Was kostet der Eintritt?", "Wie funktioniert apt?", "Was ist Snowball?"),
    "fr": ("Où est Paris?", "Qui paie l'impôt?", "Combien pèse un chat?", "Quels fichiers manquent?"),
    "es": ("¿Qué significa root?", "¿Quién paga?", "¿Cuándo vence?"),
    "it": ("Dove si trova Roma?", "Quanto pesa?", "Come installare Debian?"),
    "nl": ("Hoeveel kost dit?", "Wie schreef Hamlet?", "Wat is de prijs?"),
    "pt": ("Onde mora Ana?", "Quem paga?"),
    "sv": ("Vad kostar biljetten?",),
    "pl": ("Kto napisał Hamleta?", "Ile to kosztuje?"),
}


@pytest.mark.parametrize(
    ("code", "question"), [(code, question) for code, questions in SHORT.items() for question in questions]
)
def test_short_questions_are_recognised_by_how_they_begin(code: str, question: str) -> None:
    assert foreign_language(question) == code


@pytest.mark.parametrize(
    "text",
    [
        "How many hearts has an octopus?",
        "Was England successful in 1990?",
        "Was written consent obtained?",
        "Hoe does she describe Oprah Winfrey?",
        "O'Hare International Airport serves which city?",
        "Comment syntax of TOML?",
        "Chi squared test threshold",
        "Dove chocolate ingredients",
        "Cosa Nostra refers to what organization?",
        "Which tool finds data races?",
        "Deutsche Bahn timetable Frankfurt?",
        "max_connections default value?",
        "grep -rn foo /usr/lib/python3/dist-packages",
        "who wrote the Carmina Burana",
        "What does “Es war einmal” mean?",
        "1 2 3 4.5 6/7",
        "Hauptstraße",
        "",
        " \n",
    ],
)
def test_english_names_code_and_numbers_are_no_other_language(text: str) -> None:
    assert foreign_language(text) is None


def test_a_document_is_recognised_by_its_beginning() -> None:
    german = "Das Zelt ist wasserdicht und wird für zwei Wochen verliehen. "
    assert foreign_language(german * 2, 20) == foreign_language(german * 5000, 20) == "de"
    assert foreign_language(german, 20) is None
    assert foreign_language("Die Regel. " * 4, 20) is None


def test_the_model_is_not_loaded_for_english(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(oreqa.text.languages, "_identifier", fail)
    words = sorted(STOP_WORDS)[:3]
    assert foreign_language(f"{words[0]} tent {words[1]} boots {words[2]} lamp") is None
    with pytest.raises(AssertionError, match="loaded"):
        foreign_language("Zelte sind wasserdicht")
