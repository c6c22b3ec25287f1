"""Sentence boundaries, with exact character offsets."""

from __future__ import annotations

import re

_BULLET = re.compile(r"\n(?=[ \t]*(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+\S)")


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Offsets ``(start, end)`` of the sentences of ``text``, in order, without surrounding white space.

    The items of a list are sentences of their own. Text without any sentence mark is one sentence; text of white
    space only has none. ``language`` is an ISO 639-1 code.
    """
    import sentencex

    spans: list[tuple[int, int]] = []
    begin = 0
    for cut in [match.end() for match in _BULLET.finditer(text)] + [len(text)]:
        part = text[begin:cut]
        if part.strip():
            for boundary in sentencex.get_sentence_boundaries(language, part):
                _append(spans, text, begin + boundary["start_index"], begin + boundary["end_index"])
        begin = cut
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        start += len(piece) - len(piece.lstrip())
        spans.append((start, start + len(stripped)))
