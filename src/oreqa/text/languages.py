"""Detects the language of texts that are not English, by py3langid (after Lui & Baldwin 2012)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from oreqa.text.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH_SHARE = 0.25
"""The share of stop words above which a text is English without further tests, which take half a second the first time."""

FOREIGN = 0.7
"""The probability above which a text is considered to be in another language."""

LOOKED_AT = 200
"""Words examined, from the beginning."""

LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""Languages by ISO 639-1 code."""

_OPENERS = {
    "de": "wer wen wem was wo wann wie warum wieso weshalb wohin woher womit welche welcher welches welchen welchem wieviel",
    "es": "qué quién quiénes dónde cuándo cómo cuál cuáles cuánto cuánta cuántos cuántas por",
    "fr": "qui que où quand pourquoi combien quel quelle quels quelles",
    "it": "chi cosa dove quando come perché quale quali quanto quanta quanti quante",
    "nl": "wie wat waar wanneer waarom hoe hoeveel welke",
    "pl": "kto gdzie kiedy dlaczego ile jak jaki jaka jakie",
    "pt": "o quem onde quando qual quais quanto quanta quantos quantas",
    "sv": "vem vad när hur varför vilken vilket vilka",
}
"""Words that begin questions in a language."""

_FEW = 10
"""Words from which a question is long enough to detect its language without its first word."""

_WORD = re.compile(r"[^\W\d_]+")


def foreign_language(text: str, fewest_words: int = 3) -> str | None:
    """Return the code of a text's language; None for English, and if unknown, as for names and code.

    Only ``LANGUAGES`` are detected; in a text of fewer words than ``fewest_words``, only those with non-Latin letters. A
    short question must begin with a question word of its likeliest language.

    Examples:
        >>> foreign_language("Wie viele Herzen hat ein Oktopus?"), foreign_language("How many hearts has it?")
        ('de', None)
    """
    words = [match.group() for match in islice(_WORD.finditer(text), LOOKED_AT)]
    is_latin = 2 * sum(word[0] < "\u0370" for word in words) > len(words)
    english = sum(word.lower() in STOP_WORDS for word in words)
    if is_latin and 1 < len(words) < _FEW and (asking := _asks_in(words)):
        return asking
    if not words or (is_latin and (len(words) < fewest_words or english >= ENGLISH_SHARE * len(words))):
        return None
    code, probability = _identifier().classify(" ".join(words))
    return code if code in LANGUAGES and (probability >= FOREIGN or not is_latin) else None


def _asks_in(words: Sequence[str]) -> str | None:
    """Return the likeliest language of a question's words, if it begins like questions in it and is not half English."""
    first, *others = map(str.lower, words)
    codes = [code for code, openers in _OPENERS.items() if first in openers.split()]
    if not codes or 3 * sum(word in STOP_WORDS for word in others) > len(words):
        return None
    likeliest, _ = _identifier().classify(" ".join(words))
    return likeliest if likeliest in codes else None


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
