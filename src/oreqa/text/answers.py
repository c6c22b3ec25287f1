"""Answer strings: SQuAD's normalisation and F1, their occurrences in a text, and CuratedTREC's patterns."""

from __future__ import annotations

import re
import string
from collections import Counter
from functools import lru_cache

import regex

from oreqa.errors import InputError

PATTERN_SECONDS = 1.0
"""Time limit for matching one pattern."""
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@lru_cache(1 << 14)  # fitting requests the same answers under many weights
def normalize_answer(text: str) -> str:
    """Lower-case; remove ASCII punctuation and the words a, an and the; collapse white space (Rajpurkar et al. 2016)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def f1_score(prediction: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the words of both, normalised and counted with repetitions."""
    predicted_words, gold_words = normalize_answer(prediction).split(), normalize_answer(gold).split()
    common = sum((Counter(predicted_words) & Counter(gold_words)).values())
    if not common:
        return 0.0
    precision, recall = common / len(predicted_words), common / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def occurrences(text: str, answer: str) -> list[tuple[int, int]]:
    """Return the ranges of ``text`` where ``answer`` occurs as whole words, ignoring case and the kind of white space."""
    parts = [re.escape(part) for part in answer.split()]
    if not parts:
        return []
    pattern = r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def match_pattern(prediction: str, pattern: str, anchored: bool = True) -> bool:
    """Return whether a regular expression, such as CuratedTREC's, matches the prediction, ignoring case.

    ``anchored`` matches at the start of the prediction, as RECONSIDER and ProQA do; otherwise anywhere, as DPR does. A
    pattern that takes longer than PATTERN_SECONDS does not match. Raises InputError for an invalid pattern.
    """
    compiled = _compiled(pattern)
    find = compiled.match if anchored else compiled.search
    try:
        return find(prediction, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        return False


def pattern_occurrences(text: str, pattern: str) -> list[tuple[int, int]]:
    """Return the ranges of ``text`` that a regular expression matches, ignoring case, without empty ones.

    There are none if that takes longer than PATTERN_SECONDS. Raises InputError for an invalid pattern.
    """
    try:
        matches = list(_compiled(pattern).finditer(text, timeout=PATTERN_SECONDS))
    except TimeoutError:
        return []
    return [match.span() for match in matches if match.end() > match.start()]


def _compiled(pattern: str) -> regex.Pattern[str]:
    try:
        return regex.compile(pattern, regex.IGNORECASE | regex.UNICODE | regex.MULTILINE)
    except regex.error as error:
        raise InputError(f"{pattern!r} is not a regular expression ({error})") from error
