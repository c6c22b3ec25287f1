"""Answer strings: SQuAD's normalisation, where a string occurs in a text, and CuratedTREC's patterns."""

from __future__ import annotations

import re
import string

import regex

from oreqa.errors import InputError

PATTERN_SECONDS = 1.0

_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower case, without ASCII punctuation, the words a, an and the, and repeated blanks (Rajpurkar et al. 2016)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def occurrences(text: str, answer: str) -> list[tuple[int, int]]:
    """Where ``answer`` stands in ``text`` as whole words, in any case and with any blanks between its words."""
    parts = [re.escape(part) for part in answer.split()]
    if not parts:
        return []
    pattern = r"(?<!\w)" + r"\s+".join(parts) + r"(?!\w)"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]


def match_pattern(prediction: str, pattern: str, anchored: bool = True) -> bool:
    """Whether a regular expression (CuratedTREC's) matches the prediction, in any case.

    ``anchored`` matches from the prediction's beginning, as RECONSIDER and ProQA do; otherwise anywhere, as DPR. A pattern
    that takes over a second does not match. Raises InputError for one that is not a regular expression.
    """
    flags = regex.IGNORECASE | regex.UNICODE | regex.MULTILINE
    try:
        compiled = regex.compile(pattern, flags)
        run = compiled.match if anchored else compiled.search
        return run(prediction, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        return False
    except regex.error as error:
        raise InputError(f"{pattern!r} is not a regular expression ({error})") from error
