"""Which sentences of a passage questions are made from: those of prose, and not headings, tables, code or lists of changes.

Written for English, as the rules of answer candidates are.
"""

from __future__ import annotations

import regex

from oreqa.core import Passage
from oreqa.generation.output import sentence_ranges
from oreqa.text.lines import MAX_CODE
from oreqa.text.stop_words import STOP_WORDS

MIN_WORDS = 20
"""Passages of fewer words are passed over (ProQA's released code)."""

MIN_SENTENCE_WORDS = 5
"""A shorter sentence says too little to ask about."""

_MARKER = regex.compile(r"\s*(?:[-*•–]|\(?(?:\d{1,2}|[a-z])[.)])\s+")
_FIRST = regex.compile(r"[\p{Lu}\p{Nd}\"'“‘«(\[]")
_WORD = regex.compile(r"[\p{L}\p{M}]++(?:['’-][\p{L}\p{M}]++)*+")
_CODE = regex.compile(r"[{}<>|=;\\]|--\w|[#$]\s?[^\W\d]|\w::|\n[-=~^]{3}")

MIN_LETTERS = 0.75
"""Share of the characters that are letters or spaces."""


def is_prose(sentence: str) -> bool:
    """Whether a sentence is one of prose: it begins and ends like a sentence and has a function word and little code.

    A mark of a list before it does not count.
    """
    text = sentence[match.end() :] if (match := _MARKER.match(sentence)) else sentence
    words = _WORD.findall(text)
    if len(words) < MIN_SENTENCE_WORDS or not _is_complete(text.strip()):
        return False
    letters = sum(character.isalpha() or character.isspace() for character in text)
    functional = any(word.lower() in STOP_WORDS for word in words)
    code = len(_CODE.findall(text))
    return letters >= MIN_LETTERS * len(text) and functional and code <= MAX_CODE * len(text)


def _is_complete(text: str) -> bool:
    return bool(_FIRST.match(text)) and text.rstrip("\"'”’»)] \t\r\n").endswith((".", "!", "?", "…"))


def prose_ranges(passage: Passage) -> list[tuple[int, int]]:
    """The sentences of prose in a passage, in characters of its own text."""
    return [(start, end) for start, end in sentence_ranges(passage) if is_prose(passage.text[start:end])]


def is_askable(passage: Passage) -> bool:
    """Whether questions are made from a passage: it has MIN_WORDS words and a sentence of prose."""
    return len(passage.text.split()) >= MIN_WORDS and bool(prose_ranges(passage))
