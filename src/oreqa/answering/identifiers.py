"""Questions that name an identifier, as ``max_connections``, ``--dry-run`` or ``70B3D501B``: no other is as good.

A reader takes identifiers that are spelt alike for one another, and gives what the documents say of another one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from oreqa.core import Hit
from oreqa.corpus.splitter import passage_head

IDENTIFIER_TOP_K = 20
"""Passages or sentences among which those that hold a question's identifiers are looked for."""

MIN_CODE, MIN_DIGITS = 6, 2
"""The fewest characters of a code, and digits among them."""

_TOKEN = re.compile(r"[\w-]++")
_OPTION, _NUMBERED = re.compile(r"--[a-z].*"), re.compile(r"[A-Z]{2,}-\d[\d-]+\d")
_AMOUNT = re.compile(r"\d+[A-Za-z]+")
"""A number with a unit or an ending, as 250GB or 1000th."""

_SIGNS, _JOINED = re.compile(r"[\W_]+"), r"[\W_]*+"


def identifiers(question: str) -> list[str]:
    """The identifiers that a question names, as they are compared: without their signs and their case."""
    return [_letters(token) for token in _TOKEN.findall(question) if _is_identifier(token)]


def holding(named: Sequence[str], hits: Sequence[Hit]) -> list[Hit]:
    """The hits whose passages, with title and heading, hold all of the identifiers, however these are joined there.

    A longer name, as ``max_wal_senders`` or ``--no-edit``, does not hold a shorter one, ``max_wal`` or ``--edit``.
    """
    if not named:
        return list(hits)
    patterns = [re.compile(rf"(?<!\w)(?<!\w-){_JOINED.join(map(re.escape, name))}(?![-_]?[^\W_])") for name in named]
    texts = [_folded(f"{passage_head(hit.passage.title, hit.passage.heading)} {hit.passage.text}") for hit in hits]
    return [hit for hit, text in zip(hits, texts, strict=True) if all(pattern.search(text) for pattern in patterns)]


def _is_identifier(token: str) -> bool:
    if "_" in token.strip("_-") or _OPTION.fullmatch(token) or _NUMBERED.fullmatch(token):
        return True
    digits = sum(character.isdecimal() for character in token)  # a code of letters and digits, as 70B3D501B
    is_code = len(token) >= MIN_CODE and token.isalnum() and token.isascii() and MIN_DIGITS <= digits < len(token)
    return is_code and not _AMOUNT.fullmatch(token)


def _letters(text: str) -> str:
    return _SIGNS.sub("", _folded(text))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
