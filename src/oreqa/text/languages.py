"""The language of a text that is not English, by py3langid (after Lui & Baldwin 2012)."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from oreqa.text.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH_SHARE = 0.25
"""The share of stop words from which a text is English without a closer look, which takes half a second the first time."""

FOREIGN = 0.7
"""The probability from which a text is taken to be of another language."""

LOOKED_AT = 200
"""Words that are looked at, from the beginning."""

LANGUAGES = {
    "ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""Languages by ISO 639-1 code."""

_WORD = re.compile(r"[^\W\d_]+")


def foreign_language(text: str, fewest_words: int = 3) -> str | None:
    """The code of a text's language; None for English, and where it cannot be told, as for names and for code.

    Only ``LANGUAGES`` are told, and a text of fewer words than ``fewest_words`` only by letters that are not Latin.

    Examples:
        >>> foreign_language("Wie viele Herzen hat ein Oktopus?"), foreign_language("How many hearts has it?")
        ('de', None)
    """
    words = [match.group() for match in islice(_WORD.finditer(text), LOOKED_AT)]
    is_latin = 2 * sum(word[0] < "\u0370" for word in words) > len(words)
    english = sum(word.lower() in STOP_WORDS for word in words)
    if not words or (is_latin and (len(words) < fewest_words or english >= ENGLISH_SHARE * len(words))):
        return None
    code, probability = _identifier().classify(" ".join(words))
    return code if code in LANGUAGES and (probability >= FOREIGN or not is_latin) else None


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
