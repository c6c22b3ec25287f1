"""Sentence boundaries, with exact character offsets."""

from __future__ import annotations

import re

# Before an item of a list or a row of a table, and after the latter.
_ROW = re.compile(r"\n(?=[ \t]*(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+\S|[ \t]*\|)|(?<=\|)[ \t]*\n")
_NUMBER = re.compile(r"(?:^|(?<=\n))[ \t]*\d{1,3}[.)]\Z")
_WORD = re.compile(r"\w")


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Offsets ``(start, end)`` of the sentences of ``text``, in order, without surrounding white space.

    The items of a list and the rows of a table are sentences of their own. Text without any sentence mark is one
    sentence; text of white space only has none, and runs without any letter or digit count only where there is nothing
    else. ``language`` is an ISO 639-1 code.
    """
    import sentencex

    spans: list[tuple[int, int]] = []
    begin = 0
    for cut in [match.end() for match in _ROW.finditer(text)] + [len(text)]:
        part = text[begin:cut]
        if part.strip():
            for boundary in sentencex.get_sentence_boundaries(language, part):
                _append(spans, text, begin + boundary["start_index"], begin + boundary["end_index"])
        begin = cut
    return [span for span in spans if _WORD.search(text, *span)] or spans[:1]


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        if spans and _NUMBER.search(text, *spans[-1]):  # the number of a list's item belongs to the item
            start = spans.pop()[0]
        spans.append((start, end - len(piece) + len(piece.rstrip())))
