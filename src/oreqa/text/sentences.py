"""Splits text into sentences, with exact character offsets, and tells prose from headings, tables and code."""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

from oreqa.text.lines import MAX_CODE, line_ends
from oreqa.text.stop_words import STOP_WORDS

_NUMBER = re.compile(r"[ \t]*\d{1,3}(?:\.\d{1,3})*[.)]")
_WORD = re.compile(r"\w")
_BLOCK = 5000

_INITIAL_GAP = re.compile(r"(?<=\b[^\W\d_])\s+(?=\.)")
"""White space between an initial and its full stop: sentencex panics if it takes several bytes."""

MIN_SENTENCE_WORDS = 5
"""A shorter sentence says too little to ask about."""

_MARKER = regex.compile(r"\s*(?:[-*•–]|\(?(?:\d{1,2}|[a-z])[.)])\s+")
_FIRST = regex.compile(r"[\p{Lu}\p{Nd}\"'“‘«(\[]")
_PROSE_WORD = regex.compile(r"[\p{L}\p{M}]++(?:['’-][\p{L}\p{M}]++)*+")
_CODE = regex.compile(r"[{}<>|=;\\]|--\w|[#$]\s?[^\W\d]|\w::|\n[-=~^]{3}")

MIN_LETTERS = 0.75
"""The smallest share of characters that are letters or spaces."""


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return the offsets ``(start, end)`` of the sentences of ``text``, in order, without surrounding white space.

    A list item, a table row or a line that is not wrapped prose is a sentence. Text without sentence punctuation is one
    sentence; white space alone has none. Sentences without a letter or digit are dropped, unless the text has no others:
    then the first one is kept. ``language`` is an ISO 639-1 code.
    """
    sentences: list[tuple[int, int]] = []
    line_start = 0
    for line_end in [*line_ends(text), len(text)]:
        for start, end in _boundaries(text, line_start, line_end, language):
            _append(sentences, text, start, end)
        line_start = line_end
    return [sentence for sentence in sentences if _WORD.search(text, *sentence)] or sentences[:1]


def _boundaries(text: str, begin: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """Yield sentencex's boundaries, _BLOCK characters at a time because its running time can be quadratic."""
    while begin < end:
        block = text[begin : min(begin + _BLOCK, end)]
        sentences = _block_boundaries(block, language)
        if begin + len(block) < end:  # the last sentence may continue in the next block
            if len(sentences) > 1:
                sentences.pop()
            elif (gap := max(block.rfind(" "), block.rfind("\n"))) > 0:
                sentences = [(0, gap)]
        for a, b in sentences:
            yield begin + a, begin + b
        begin += sentences[-1][1] if sentences else len(block)


def _block_boundaries(block: str, language: str) -> list[tuple[int, int]]:
    import sentencex

    if not block.isascii():
        block = _INITIAL_GAP.sub(lambda gap: re.sub(r"[^\x00-\x7f]", " ", gap[0]), block)
    boundaries = sentencex.get_sentence_boundaries(language, block)
    return [(boundary["start_index"], boundary["end_index"]) for boundary in boundaries]


def _append(sentences: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        if sentences and _ends_in_number(text, *sentences[-1]):  # a list item's number, as 2. or 8.2., belongs to the item
            start = sentences.pop()[0]
        sentences.append((start, end - len(piece) + len(piece.rstrip())))


def _ends_in_number(text: str, start: int, end: int) -> bool:
    """Return whether the last line of ``text[start:end]`` is only a list item's number."""
    return bool(_NUMBER.fullmatch(text, max(start, text.rfind("\n", start, end) + 1), end))


def is_prose(sentence: str) -> bool:
    """Return whether a sentence is prose: it begins and ends like a sentence and has a function word and little code.

    A list mark before it is ignored.
    """
    text = sentence[match.end() :] if (match := _MARKER.match(sentence)) else sentence
    words = _PROSE_WORD.findall(text)
    if len(words) < MIN_SENTENCE_WORDS or not _is_complete(text.strip()):
        return False
    letters = sum(character.isalpha() or character.isspace() for character in text)
    functional = any(word.lower() in STOP_WORDS for word in words)
    code = len(_CODE.findall(text))
    return letters >= MIN_LETTERS * len(text) and functional and code <= MAX_CODE * len(text)


def _is_complete(text: str) -> bool:
    return bool(_FIRST.match(text)) and text.rstrip("\"'”’»)] \t\r\n").endswith((".", "!", "?", "…"))
