"""BM25 (Robertson & Zaragoza 2009, Lucene's variant) over stemmed words, through bm25s."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, Ints, Rows
from oreqa.errors import InputError

if TYPE_CHECKING:
    from bm25s import BM25

# Characters of writing without spaces: Chinese, kana; Thai, Lao, Burmese, Khmer with their vowel signs. In a run of them
# each is a word, and so is each pair; everything else is cut at what is not a letter or a digit.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e4f\u0e81-\u0ecf\u1000-\u1049\u1780-\u17d3"
_RUN = re.compile(rf"[{_UNSPACED}]+")
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")

# Between a number and its power, which would become one number: 2⁶⁴ is not 264.
_POWER = re.compile(r"(?<=[0-9])(?=[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽])")

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Languages with a stemmer, by ISO 639-1 code; the words of others are taken as they are."""

_LANGUAGE = re.compile(
    "a[abefkmnrsvyz]|b[aeghimnors]|c[aehorsuvy]|d[aevz]|e[elnostu]|f[afijory]|g[adlnuv]|h[aeiortuyz]|i[adegikostu]|j[av]"
    "|k[agijklmnorsuvwy]|l[abginotuv]|m[ghklnrsty]|n[abdeglnorvy]|o[cjmrs]|p[ailst]|qu|r[mnouw]|s[acdeghiklmnoqrstuvw]"
    "|t[aeghiklnorstwy]|u[gkrz]|v[eio]|w[ao]|xh|y[io]|z[ahu]|[a-z]{3}"
)
"""The codes of ISO 639-1, and any of three letters."""


def words(text: str, language: str) -> list[str]:
    """The stemmed words of a text, in order: lower case, accents and punctuation left out.

    Of Chinese, Japanese, Thai and other writing without spaces they are the characters and pairs of neighbours.
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
    """The characters of a run, and its pairs of neighbours."""
    return [*run, *map("".join, pairwise(run))]


@lru_cache(maxsize=64)
def _stemmer(language: str, thread: int):  # type: ignore[no-untyped-def]
    """A stemmer of one thread: PyStemmer's may not be shared."""
    if language in STEMMERS:
        import Stemmer

        return Stemmer.Stemmer(STEMMERS[language])
    return None


def check_language(language: str) -> None:
    """Raise InputError if ``language`` is no code of ISO 639-1 and does not look like one of three letters."""
    if not _LANGUAGE.fullmatch(language):
        raise InputError(f"{language!r} is not a language code: use one of two letters, as en or de")


class Vocabulary:
    """Words and their numbers, from 0. New words are numbered as they come."""

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self._ids = {word: number for number, word in enumerate(terms)}
        self._saved = len(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def items(self) -> Iterable[tuple[str, int]]:
        """All words with their numbers."""
        return self._ids.items()

    def number(self, terms: Sequence[str]) -> Ints:
        """The numbers of words, new ones included."""
        ids = self._ids
        return np.array([ids.setdefault(word, len(ids)) for word in terms], np.int32)

    def take_new(self) -> list[tuple[int, str]]:
        """The words that came since the last call, with their numbers."""
        new = [(number, word) for word, number in list(self._ids.items())[self._saved :]]
        self._saved = len(self._ids)
        return new


Texts = tuple[Ints, NDArray[np.int64]]
"""The word ids of all texts one after another, and the number of words of each text."""


def build_bm25(terms: Ints, lengths: NDArray[np.int64], vocabulary: int, folder: Path, k1: float, b: float) -> None:
    """Score every word of every text and save the matrix in ``folder``, in bm25s' format.

    ``terms`` are the numbered words of all texts one after another, ``lengths`` how many each text has, ``vocabulary`` the
    number of known words. The matrix is made here, sorted once instead of text by text in Python, because a refresh makes
    it anew.
    """
    import bm25s

    texts = len(lengths)
    keys = terms.astype(np.int64) * texts + np.repeat(np.arange(texts), lengths)
    keys, counts = np.unique(keys, return_counts=True)
    words_, rows = np.divmod(keys, max(texts, 1))
    texts_with = np.bincount(words_, minlength=vocabulary + 1)  # one more, so that an empty vocabulary works, too
    idf = np.log1p((texts - texts_with + 0.5) / (texts_with + 0.5))
    norm = k1 * (1 - b + b * lengths / max(lengths.mean(), 1e-9))
    retriever = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    retriever.scores = {
        "data": (idf[words_] * counts / (counts + norm[rows])).astype(np.float32),
        "indices": rows.astype(np.int32),
        "indptr": np.concatenate([[0], np.cumsum(texts_with)]).astype(np.int64),
        "num_docs": texts,
    }
    retriever.vocab_dict, retriever.nonoccurrence_array = {}, None
    retriever.save(folder, show_progress=False)


def load_bm25(folder: Path) -> BM25:
    """A saved matrix, mapped into memory."""
    import bm25s

    return bm25s.BM25.load(folder, mmap=True, load_vocab=False, show_progress=False)


def bm25_scores(retriever: BM25, ids: Ints) -> Floats:
    """BM25 of every text for one question, given by the numbers of its known words: ``[texts]``."""
    scores: Floats = retriever.get_scores_from_ids(ids)
    return scores


def bm25_of_texts(retriever: BM25, ids: Ints, rows: Rows) -> Floats:
    """BM25 of the texts in these rising rows for one question: ``[rows]``."""
    weights, texts, starts = (np.asarray(retriever.scores[name]) for name in ("data", "indices", "indptr"))
    scores = np.zeros(len(rows), np.float32)
    for number in ids.tolist():
        begin, end = starts[number], starts[number + 1]
        with_word = texts[begin:end]
        places = np.searchsorted(with_word, rows)
        places[places == len(with_word)] = 0
        held = with_word[places] == rows if len(with_word) else np.zeros(len(rows), bool)
        scores[held] += weights[begin:end][places[held]]
    return scores


def bm25_bound(retriever: BM25, ids: Ints, unknown: int) -> float:
    """The highest BM25 that a question could reach: the sum of its words' IDF.

    ``unknown`` words that no text holds weigh as much as a word can.
    """
    indptr, texts = retriever.scores["indptr"], retriever.scores["num_docs"]
    texts_with = np.asarray(indptr[ids + 1] - indptr[ids], np.float64)
    counts = np.concatenate([texts_with, np.zeros(unknown)])
    with np.errstate(invalid="ignore"):  # of a damaged matrix; the search refuses scores that are no numbers
        return float(np.log1p((texts - counts + 0.5) / (counts + 0.5)).sum())
