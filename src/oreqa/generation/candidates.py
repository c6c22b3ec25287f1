"""Answer candidates: the spans of passages, given without questions, that people will ask about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oreqa.arguments import count, passage_list
from oreqa.datasets.answers import normalize_answer
from oreqa.errors import InputError
from oreqa.generation.entities import Entities
from oreqa.generation.rules import rule_spans
from oreqa.models.extractor.extractor import Extractor

Text = tuple[str, str]
"""A passage's title and text."""


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """A span ``passage_text[start:end] == text`` that people may ask about.

    ``source`` is what found it: ``extractor``, ``entity``, or the kind of a rule's span (``date``, ``number``, ``quantity``,
    ``name``, ``quoted``, ``phrase``). Scores of the extractor compare with one another, and so do those of rules; an
    entity's is 0.
    """

    text: str
    start: int
    end: int
    source: str
    score: float


def answer_candidates(
    passages: str | Iterable[str | Text],
    k: int = 10,
    *,
    extractor: Extractor | None = None,
    entities: Entities | None = None,
    rules: bool = True,
) -> list[list[AnswerCandidate]]:
    """Return up to ``k`` spans of each passage that people may ask about, likeliest first.

    A passage is its text, or its ``(title, text)``. The extractor's spans come first, then spaCy's ``entities`` in the order
    of the text, then those that ``rules`` find. A span is left out if it overlaps one that stands before it, or equals one
    after SQuAD's normalisation. Raises InputError if there is nothing to find spans with, or for what is no passage.
    """
    k, texts = count(k, "k"), passage_list(passages)
    if extractor is None and entities is None and not rules:
        raise InputError("answer candidates need an extractor, entities or rules")
    # Twice as many, because spans of equal text are left out.
    extracted = [] if extractor is None else extractor.extract(texts, 2 * k)
    named = [] if entities is None else list(entities.find(text for _, text in texts))
    candidates = []
    for number, (_, text) in enumerate(texts):
        proposed: list[tuple[int, int, str, float]] = []
        if extracted:
            proposed += [(span.start, span.end, "extractor", span.score) for span in extracted[number]]
        if named:
            proposed += [(start, end, "entity", 0.0) for start, end in named[number]]
        chosen = _choose(text, proposed, k, [])
        if rules and len(chosen) < k:
            chosen = _choose(text, [(s.start, s.end, s.kind, s.score) for s in rule_spans(text)], k, chosen)
        candidates.append(chosen)
    return candidates


def _choose(
    text: str, spans: Sequence[tuple[int, int, str, float]], k: int, chosen: Sequence[AnswerCandidate]
) -> list[AnswerCandidate]:
    """Add spans to the ``chosen`` ones, in their order, until there are ``k``."""
    candidates = list(chosen)
    answers = {normalize_answer(candidate.text) for candidate in candidates} | {""}
    for start, end, source, score in spans:
        if len(candidates) >= k:
            break
        if any(start < candidate.end and candidate.start < end for candidate in candidates):
            continue
        answer = normalize_answer(text[start:end])
        if answer not in answers:
            answers.add(answer)
            candidates.append(AnswerCandidate(text[start:end], start, end, source, score))
    return candidates
