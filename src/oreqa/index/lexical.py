"""Tokenizes texts into words and numbers the words."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Ints
from oreqa.errors import InputError

# Characters of scripts without spaces: Chinese, kana; Thai, Lao, Burmese, Khmer with their vowel signs. In a run of them
# each character is a word, and so is each pair; other text is split at everything but letters and digits.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e4f\u0e81-\u0ecf\u1000-\u1049\u1780-\u17d3"
_RUN = re.compile(rf"[{_UNSPACED}]+")
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")

# Between a number and its power, so that they do not merge: 2⁶⁴ is not 264.
_POWER = re.compile(r"(?<=[0-9])(?=[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽])")

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Languages with a stemmer, by ISO 639-1 code; words of other languages are not stemmed."""

_LANGUAGE = re.compile(
    "a[abefkmnrsvyz]|b[aeghimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|h[aeiortuyz]|i[adegikostu]|j[av]"
    "|k[agijklmnorsuvwy]|l[abginotuv]|m[ghklnrsty]|n[abdeglnorvy]|o[cjmrs]|p[ailst]|qu|r[mnouw]|s[acdeghiklmnoqrstuvw]"
    "|t[aeghiklnorstwy]|u[gkrz]|v[eio]|w[ao]|xh|y[io]|z[ahu]|[a-z]{3}"
)
"""The codes of ISO 639-1, and any of three letters."""


def words(text: str, language: str) -> list[str]:
    """Return the stemmed words of a text, in order: lower case, without accents and punctuation.

    In scripts without spaces (Chinese, Japanese, Thai and others), words are single characters and adjacent pairs.
    """
    if not text.isascii():
        text = _POWER.sub(" ", text)
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    unstemmed = _WORD.findall(text.lower())
    if not text.isascii():
        unstemmed = [part for word in unstemmed for part in (_characters(word) if _RUN.match(word) else (word,))]
    stemmer = _stemmer(language, threading.get_ident())
    return stemmer.stemWords(unstemmed) if stemmer else unstemmed


def _characters(run: str) -> list[str]:
    """Return the characters of a run and its adjacent pairs."""
    return [*run, *map("".join, pairwise(run))]


@lru_cache(maxsize=64)
def _stemmer(language: str, thread: int):  # type: ignore[no-untyped-def]
    """Return a stemmer for one thread: PyStemmer's may not be shared."""
    if language in STEMMERS:
        import Stemmer

        return Stemmer.Stemmer(STEMMERS[language])
    return None


def check_language(language: str) -> None:
    """Raise InputError unless ``language`` is a code of ISO 639-1 or looks like one of three letters."""
    if not _LANGUAGE.fullmatch(language):
        raise InputError(f"{language!r} is not a language code: use one of two letters, as en or de")


class Vocabulary:
    """Words and their numbers, from 0, assigned in order of appearance."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def items(self) -> Iterable[tuple[str, int]]:
        """Return all words with their numbers."""
        return self._ids.items()

    def number(self, terms: Sequence[str]) -> Ints:
        """Return the numbers of words, adding new ones."""
        ids = self._ids
        return np.array([ids.setdefault(word, len(ids)) for word in terms], np.int32)


Texts = tuple[Ints, NDArray[np.int64]]
"""The word ids of all texts, concatenated, and the number of words of each text."""
