"""Split text into sentences, with exact character offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

# Line breaks before a list item or table row, and after a table row.
_ROW = re.compile(r"\n(?=[ \t]*(?:[-*+•‣◦]|\d{1,3}(?:\.\d{1,3})*[.)])[ \t]+\S|[ \t]*\|)|(?<=\|)[ \t]*\n")
_NUMBER = re.compile(r"[ \t]*\d{1,3}(?:\.\d{1,3})*[.)]")
_WORD = re.compile(r"\w")
_BLANK_LINES = re.compile(r"\n[ \t\r]*\n\s*")
_LINES = 3
"""The fewest lines of a list."""
NARROWEST = 60
"""The narrowest column, in characters, that prose is thought to be wrapped to."""
_BLOCK = 5000


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return the offsets ``(start, end)`` of the sentences of ``text``, in order, without surrounding white space.

    List items, table rows, and lines that are not wrapped prose are sentences of their own. Text without sentence
    punctuation is one sentence; white space alone has none. Sentences without a letter or digit are dropped, unless the
    text has no others: then the first is kept. ``language`` is an ISO 639-1 code.
    """
    sentences: list[tuple[int, int]] = []
    line_start = 0
    for line_end in [*row_ends(text), len(text)]:
        for start, end in _boundaries(text, line_start, line_end, language):
            _append(sentences, text, start, end)
        line_start = line_end
    return [sentence for sentence in sentences if _WORD.search(text, *sentence)] or sentences[:1]


def row_ends(text: str) -> list[int]:
    """Return the places where list items, table rows, and lines of blocks that list things end, in order."""
    return sorted({match.end() for match in _ROW.finditer(text)}.union(_line_ends(text)))


def _line_ends(text: str) -> Iterator[int]:
    """Yield the ends of the lines of each block that lists things line by line, as addresses, opening hours or settings.

    Prose is wrapped where the next word would not fit. In a list every next word would have fitted, and no line goes on with
    a small letter.
    """
    start = 0
    for gap_start, gap_end in [match.span() for match in _BLANK_LINES.finditer(text)] + [(len(text), len(text))]:
        lines = text[start:gap_start].split("\n")
        if len(lines) >= _LINES and _is_list(lines):
            for line in lines[:-1]:
                start += len(line) + 1
                yield start
        start = gap_end


def _is_list(lines: Sequence[str]) -> bool:
    width = max(NARROWEST, *(len(line.rstrip()) for line in lines))
    if any(not (text := line.lstrip()) or text[0].islower() for line in lines):
        return False
    return not any(is_wrapped(line, following, width) for line, following in pairwise(lines))


def is_wrapped(line: str, following: str, width: int) -> bool:
    """Whether a line of prose goes on in the ``following`` one, whose first word did not fit into ``width`` characters."""
    word = following.split(maxsplit=1)[:1]
    return bool(line.strip() and word) and len(line.rstrip()) + 1 + len(word[0]) > width


def _boundaries(text: str, begin: int, end: int, language: str) -> Iterator[tuple[int, int]]:
    """Yield sentencex's boundaries, _BLOCK characters at a time because its running time can be quadratic."""
    import sentencex

    while begin < end:
        block = text[begin : min(begin + _BLOCK, end)]
        sentences = [(b["start_index"], b["end_index"]) for b in sentencex.get_sentence_boundaries(language, block)]
        if begin + len(block) < end:  # the last sentence may continue in the next block
            if len(sentences) > 1:
                sentences.pop()
            elif (gap := max(block.rfind(" "), block.rfind("\n"))) > 0:
                sentences = [(0, gap)]
        for a, b in sentences:
            yield begin + a, begin + b
        begin += sentences[-1][1] if sentences else len(block)


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
