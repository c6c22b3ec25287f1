"""Documents to passages: paragraphs are kept together up to a number of tokens (as ProQA's released code does)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from oreqa.core import Document, Passage, Section, Sentence
from oreqa.corpus.builder import clip_places
from oreqa.corpus.sentences import split_sentences

Range = tuple[int, int]
CountTokens = Callable[[Sequence[str]], list[int]]

SPLITTER_VERSION = 3
"""To be raised when the same file would be read or cut differently: indexes then read it again."""

_BLANK_LINES = re.compile(r"\n[ \t]*(?:\r?\n[ \t]*)+")


def split_passages(document: Document, count_tokens: CountTokens, max_tokens: int, language: str = "en") -> list[Passage]:
    """Cut a document into passages of at most ``max_tokens`` tokens, none of which crosses a section's heading.

    Whole paragraphs are joined while they fit; one that ends in a colon goes with the next. A paragraph that is too long is
    cut between sentences, a sentence that is too long between words. ``count_tokens`` counts a batch of texts with the
    model's own tokenizer, special tokens left out; the title and the heading, which are read with every passage, count as
    well, up to half of the tokens.
    """
    passages: list[Passage] = []
    for section in document.sections or (Section(0, len(document.text), ""),):
        paragraphs = _paragraphs(document.text, section.start, section.end)
        head = passage_head(document.title, section.heading)
        room = max_tokens - min(sum(count_tokens([head])), max_tokens // 2) if head else max_tokens
        pieces: list[tuple[Range, int]] = []
        for span, length in _measured(document.text, paragraphs, count_tokens, room):
            if length <= room:
                pieces.append((span, length))
            else:
                pieces.extend(_split_long(document.text, span, count_tokens, room, language))
        for a, b in _join(_announced(document.text, pieces, room), room):
            passages.append(_passage(document, section.heading, a, b, language))
    return passages


def passage_head(title: str, heading: str) -> str:
    """What a passage is about, read by the models before its text."""
    return ": ".join(part for part in (title, heading) if part)


def paragraph_passage(document: Document, language: str = "en", sentences: Sequence[Range] | None = None) -> Passage:
    """The whole document as one passage, with given sentence boundaries or our own splitter's."""
    spans = split_sentences(document.text, language) if sentences is None else list(sentences)
    in_text = tuple(Sentence(document.text[a:b], a, b) for a, b in spans)
    return Passage(document.key, document.title, "", document.text, 0, len(document.text), in_text)


def _paragraphs(text: str, start: int, end: int) -> list[Range]:
    spans = []
    for cut_start, cut_end in [m.span() for m in _BLANK_LINES.finditer(text, start, end)] + [(end, end)]:
        trimmed = _trim(text, start, cut_start)
        if trimmed:
            spans.append(trimmed)
        start = cut_end
    return spans


def _trim(text: str, start: int, end: int) -> Range | None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    start += len(piece) - len(piece.lstrip())
    return start, start + len(stripped)


def _split_long(
    text: str, span: Range, count_tokens: CountTokens, max_tokens: int, language: str
) -> list[tuple[Range, int]]:
    """An overlong paragraph as sentences, joined while they fit; an overlong sentence as runs of words."""
    start, end = span
    spans = [(start + a, start + b) for a, b in split_sentences(text[start:end], language)]
    pieces: list[tuple[Range, int]] = []
    for sentence, length in _measured(text, spans, count_tokens, max_tokens):
        if length <= max_tokens:
            pieces.append((sentence, length))
            continue
        words = [match.span() for match in _WORDS.finditer(text, *sentence)]
        runs = _join(list(_measured(text, words, count_tokens, max_tokens)), max_tokens)
        pieces.extend((run, max_tokens) for run in runs)
    # These runs are given the whole budget: the next paragraph begins a passage of its own.
    return [(run, max_tokens) for run in _join(pieces, max_tokens)]


# Cut at 40 characters, so that a "word" fits by itself whatever the tokenizer. No passage has more characters for a token.
_WORD = 40
_WORDS = re.compile(rf"\S{{1,{_WORD}}}")
_BATCH = 256
"""Texts given to the tokenizer at once, which takes some hundred bytes for each of their tokens."""


def _measured(text: str, spans: Sequence[Range], count_tokens: CountTokens, max_tokens: int) -> Iterator[tuple[Range, int]]:
    """Spans with their numbers of tokens, without those of which a model would see nothing.

    What is too long by its characters alone is not counted.
    """
    longest = max_tokens * _WORD
    for first in range(0, len(spans), _BATCH):
        batch = spans[first : first + _BATCH]
        lengths = iter(count_tokens([text[a:b] for a, b in batch if b - a <= longest]))
        for a, b in batch:
            length = next(lengths) if b - a <= longest else max_tokens + 1
            if length:
                yield (a, b), length


def _announced(text: str, pieces: Sequence[tuple[Range, int]], max_tokens: int) -> list[tuple[Range, int]]:
    """A paragraph that announces the next one, by a colon at its end, as one piece with it where both fit."""
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
    """Join neighbouring spans greedily while the sum of their tokens stays within ``max_tokens``."""
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


def _passage(document: Document, heading: str, start: int, end: int, language: str) -> Passage:
    text = document.text[start:end]
    sentences = tuple(Sentence(text[a:b], start + a, start + b) for a, b in split_sentences(text, language))
    places = tuple(clip_places(document.places, start, document.text, end))
    return Passage(document.key, document.title, heading, text, start, end, sentences, places=places)
