"""Sentence boundaries, with exact character offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Before an item of a list or a row of a table, and after the latter.
_ROW = re.compile(r"\n(?=[ \t]*(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+\S|[ \t]*\|)|(?<=\|)[ \t]*\n")
_NUMBER = re.compile(r"[ \t]*\d{1,3}[.)]")
_WORD = re.compile(r"\w")
_BLOCK = 5000


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Offsets ``(start, end)`` of the sentences of ``text``, in order, without surrounding white space.

    The items of a list and the rows of a table are sentences of their own. Text without any sentence mark is one
    sentence; text of white space only has none, and runs without any letter or digit count only where there is nothing
    else. ``language`` is an ISO 639-1 code.
    """
    spans: list[tuple[int, int]] = []
    begin = 0
    for cut in [match.end() for match in _ROW.finditer(text)] + [len(text)]:
        for start, end in _boundaries(text, begin, cut, language):
            _append(spans, text, start, end)
        begin = cut
    return [span for span in spans if _WORD.search(text, *span)] or spans[:1]


def _boundaries(text: str, begin: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """The library's boundaries, of at most _BLOCK characters at a time: its time can grow with their square."""
    import sentencex

    while begin < end:
        block = text[begin : min(begin + _BLOCK, end)]
        spans = [(b["start_index"], b["end_index"]) for b in sentencex.get_sentence_boundaries(language, block)]
        if begin + len(block) < end:  # the last sentence may go on in the next block
            if len(spans) > 1:
                spans.pop()
            elif (gap := max(block.rfind(" "), block.rfind("\n"))) > 0:
                spans = [(0, gap)]
        for a, b in spans:
            yield begin + a, begin + b
        begin += spans[-1][1] if spans else len(block)


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        if spans and _ends_in_number(text, *spans[-1]):  # the number of a list's item belongs to the item
            start = spans.pop()[0]
        spans.append((start, end - len(piece) + len(piece.rstrip())))


def _ends_in_number(text: str, start: int, end: int) -> bool:
    """Whether the last line of a span is nothing but a list's number."""
    return bool(_NUMBER.fullmatch(text, max(start, text.rfind("\n", start, end) + 1), end))
