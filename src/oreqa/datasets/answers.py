"""Answer strings: SQuAD's normalisation, and where a string occurs in a text."""

from __future__ import annotations

import re
import string

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
