"""Returns all spans if a question has several answers: "Which three protocols are supported?".

The reader runs only once. Besides the best span of a passage, the next ones that do not overlap are answers too, and
each item of an enumeration is a span. A head trained on questions with several answers did no better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oreqa.answer import Answer, Piece
from oreqa.core import Hit, Range, Span
from oreqa.text.answers import normalize_answer
from oreqa.text.several import asks_for_several, is_list_mark, listed_items, requested_number

SPANS_MARGIN, NUMBERED_MARGIN = 4.0, 8.0
"""How far a span's log-probability may lie below the answer's; the second if the question says how many it asks for, until
there are that many."""

MOST_SPANS = 10
"""The most spans in an answer."""


def with_several(question: str, answers: Sequence[Answer], hits: Sequence[Hit], spans: Sequence[Span]) -> list[Answer]:
    """Return the answers with all their spans if the question asks for several, without answers among a better one's spans.

    ``spans`` are the spans read in the ``hits``.
    """
    if not asks_for_several(question):
        return list(answers)
    number = requested_number(question)
    complete: list[Answer] = []
    for answer in answers:
        passage = answer.passage
        before = (span for better in complete if better.passage is passage for span in better.spans)
        if any(span.start < answer.end and answer.start < span.end for span in before):
            continue
        best = answer.start - passage.start, answer.end - passage.start
        passage_spans = [span for span in spans if hits[span.passage_number].passage is passage]
        ranges = several_ranges(passage.text, best, passage_spans, number)
        pieces = tuple(Piece(passage.text[s:e], passage.start + s, passage.start + e) for s, e in ranges)
        complete.append(replace(answer, spans=pieces if len(pieces) > 1 else ()))
    return complete


def several_ranges(text: str, best: Range, spans: Sequence[Span], number: int | None) -> list[Range]:
    """Return the distinct answers in a passage's ``text``, in order: the items of its ``best`` span, then of other spans.

    If the question says how many it asks for (``number``), it stops there.
    """
    scores = {(span.start, span.end): span.score for span in sorted(spans, key=lambda span: span.score)}
    lowest = scores.get(best, max(scores.values(), default=0.0)) - (SPANS_MARGIN if number is None else NUMBERED_MARGIN)
    taken, items = [best], _different(text, _items(text, best))
    for start, end in sorted(scores, key=lambda place: -scores[place]):
        if scores[start, end] < lowest or len(items) >= (number or MOST_SPANS):
            break
        is_apart = all(end <= first or last <= start for first, last in taken)
        if is_apart and text[start:end].strip(" .,:;") and not is_list_mark(text, start, end):
            taken.append((start, end))
            items = _different(text, [*items, *_items(text, (start, end))])
    return sorted(items[:MOST_SPANS])


def _items(text: str, span: Range) -> list[Range]:
    return [(span[0] + start, span[0] + end) for start, end in listed_items(text[slice(*span)])]


def _different(text: str, items: Sequence[Range]) -> list[Range]:
    """Return the items without duplicates."""
    named = {normalize_answer(text[start:end]) or text[start:end]: (start, end) for start, end in reversed(items)}
    return [item for item in items if item in named.values()]
