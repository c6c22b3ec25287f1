"""Splits documents into passages: whole paragraphs joined up to a token budget, as in ProQA's released code."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from oreqa.core import Document, Passage, Place, Range, Section, Sentence
from oreqa.corpus import limits
from oreqa.corpus.builder import clip_places
from oreqa.errors import DocumentError
from oreqa.text.rows import row_cells
from oreqa.text.sentences import split_sentences

CountTokens = Callable[[Sequence[str]], list[int]]

SPLITTER_VERSION = 38
"""Increase this when a change gives the same file other text, passages or layout: indexes then read their files again."""

_BLANK_LINES = re.compile(r"\n[ \t]*(?:\r?\n[ \t]*)+")


def split_passages(document: Document, count_tokens: CountTokens, max_tokens: int, language: str = "en") -> list[Passage]:
    """Split a document into passages of at most ``max_tokens`` tokens, none of which crosses a section boundary.

    Whole paragraphs are joined while they fit; one that ends in a colon stays with the next. A table row that names its
    columns is a passage, like a row of a CSV file. Paragraphs over the budget are split between sentences, sentences
    over the budget between words. ``count_tokens`` returns the token counts of a batch of texts, by the model's
    tokenizer without special tokens. Title and heading are encoded with every passage, so they count against the budget
    too, up to half of it. Raises DocumentError if splitting takes more CPU time than is allowed for parsing a file.
    """
    check_time = _time_limit(document)
    passages: list[Passage] = []
    for section in document.sections or (Section(0, len(document.text), ""),):
        paragraphs = _paragraphs(document.text, section.start, section.end)
        head = passage_head(document.title, section.heading)
        room = max_tokens - min(sum(count_tokens([head])), max_tokens // 2) if head else max_tokens
        pieces: list[tuple[Range, int]] = []
        for paragraph, length in _measure(document.text, paragraphs, count_tokens, room):
            if length <= room:
                # A table row counts as if it used the whole budget, so that no other paragraph joins it.
                pieces.append((paragraph, room if _is_row(document.text, *paragraph) else length))
            else:
                pieces.extend(_split_long(document.text, paragraph, count_tokens, room, language))
            check_time()
        for start, end in _join(_join_after_colons(document.text, pieces, room), room):
            earlier = passages[-1].places[0] if passages and passages[-1].places else None
            passages.append(_passage(document, section.heading, start, end, language, earlier))
            check_time()
    return passages


def _time_limit(document: Document) -> Callable[[], None]:
    """Return a function that raises DocumentError once splitting the document has taken too long."""
    seconds = limits.parse_seconds(len(document.text))
    end = time.thread_time() + seconds

    def check() -> None:
        if time.thread_time() > end:
            raise DocumentError(f"cutting {document.key} into passages takes more than {seconds} seconds: split it")

    return check


def passage_head(title: str, heading: str) -> str:
    """Return the "title: heading" that models read before a passage's text."""
    return ": ".join(part for part in (title, heading) if part)


def sentence_at(passage: Passage, place: int) -> int:
    """Return the number of the sentence at the character ``place`` of a passage's text: the last one that begins by then.

    Places before the first sentence belong to it.
    """
    return max(0, bisect_right(passage.sentences, place + passage.start, key=lambda sentence: sentence.start) - 1)


def paragraph_passage(document: Document, language: str = "en", sentences: Sequence[Range] | None = None) -> Passage:
    """Return the whole document as one passage, split at the boundaries ``sentences`` or else by ``split_sentences``."""
    ranges = split_sentences(document.text, language) if sentences is None else sentences
    split = tuple(Sentence(document.text[a:b], a, b) for a, b in ranges)
    return Passage(document.key, document.title, "", document.text, 0, len(document.text), split)


def _paragraphs(text: str, start: int, end: int) -> list[Range]:
    paragraphs = []
    for gap_start, gap_end in [m.span() for m in _BLANK_LINES.finditer(text, start, end)] + [(end, end)]:
        paragraph = _trim(text, start, gap_start)
        if paragraph:
            paragraphs.append(paragraph)
        start = gap_end
    return paragraphs


def _is_row(text: str, start: int, end: int) -> bool:
    """Return whether a paragraph is a table row that names its columns."""
    return text.find("\n", start, end) < 0 and bool(row_cells(text, start))


def _trim(text: str, start: int, end: int) -> Range | None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(stripped)


def _split_long(
    text: str, paragraph: Range, count_tokens: CountTokens, max_tokens: int, language: str
) -> list[tuple[Range, int]]:
    """Split an overlong paragraph into runs of sentences that fit, and overlong sentences into runs of words."""
    start, end = paragraph
    sentences = [(start + a, start + b) for a, b in split_sentences(text[start:end], language)]
    pieces: list[tuple[Range, int]] = []
    for sentence, length in _measure(text, sentences, count_tokens, max_tokens):
        if length <= max_tokens:
            pieces.append((sentence, length))
            continue
        words = [match.span() for match in _WORDS.finditer(text, *sentence)]
        runs = _join(list(_measure(text, words, count_tokens, max_tokens)), max_tokens)
        pieces.extend((run, max_tokens) for run in runs)
    # Counted as if they used the whole budget, so that the next paragraph starts a new passage.
    return [(run, max_tokens) for run in _join(pieces, max_tokens)]


_WORD = 40
"""Longest "word" in characters, so that each fits the budget whatever the tokenizer. No passage is longer than
``max_tokens`` times this."""
_WORDS = re.compile(rf"\S{{1,{_WORD}}}")
_BATCH = 256
"""Texts per tokenizer call, which needs some hundred bytes of memory per token."""


def _measure(text: str, ranges: Sequence[Range], count_tokens: CountTokens, max_tokens: int) -> Iterator[tuple[Range, int]]:
    """Yield ranges with their token counts, skipping those without a token.

    A range that has too many characters to fit is not tokenized: its count is ``max_tokens + 1``.
    """
    longest = max_tokens * _WORD
    for first in range(0, len(ranges), _BATCH):
        batch = ranges[first : first + _BATCH]
        lengths = iter(count_tokens([text[a:b] for a, b in batch if b - a <= longest]))
        for a, b in batch:
            length = next(lengths) if b - a <= longest else max_tokens + 1
            if length:
                yield (a, b), length


def _join_after_colons(text: str, pieces: Sequence[tuple[Range, int]], max_tokens: int) -> list[tuple[Range, int]]:
    """Join a paragraph that ends in a colon to the next one if both fit."""
    joined: list[tuple[Range, int]] = []
    for (start, end), length in pieces:
        if joined:
            (first, last), before = joined[-1]
            if text[last - 1] == ":" and before + length <= max_tokens and end - first <= max_tokens * _WORD:
                joined[-1] = ((first, end), before + length)
                continue
        joined.append(((start, end), length))
    return joined


def _join(pieces: Sequence[tuple[Range, int]], max_tokens: int) -> list[Range]:
    """Join neighbouring ranges greedily while their token counts add up to at most ``max_tokens``."""
    runs: list[Range] = []
    used = 0
    for (start, end), length in pieces:
        if runs and used + length <= max_tokens and end - runs[-1][0] <= max_tokens * _WORD:
            runs[-1] = (runs[-1][0], end)
            used += length
        else:
            runs.append((start, end))
            used = length
    return runs


def _passage(document: Document, heading: str, start: int, end: int, language: str, earlier: Place | None) -> Passage:
    text = document.text[start:end]
    sentences = tuple(Sentence(text[a:b], start + a, start + b) for a, b in split_sentences(text, language))
    places = tuple(clip_places(document.places, start, document.text, end, earlier))
    return Passage(document.key, document.title, heading, text, start, end, sentences, places=places)
