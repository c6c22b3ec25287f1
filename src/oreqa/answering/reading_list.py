"""Chooses the hits that are read: those with the question's identifiers, the best by the search or by a smaller reader."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from oreqa.answering.definitions import entry_text
from oreqa.answering.reranking import reader_ranked
from oreqa.core import Hit
from oreqa.corpus.splitter import passage_head
from oreqa.models.reader.reader import Reader
from oreqa.text.asking import contains_options, document_names, named_program, queried_names
from oreqa.text.names import contains_names, identifiers
from oreqa.text.queried_entries import queried_entries

RERANKED_PASSAGES = 10
"""How many of the best passages a smaller reader re-ranks."""

IDENTIFIER_TOP_K, LETTER_TOP_K = 100, 200
"""How many passages or sentences are searched for those that contain a question's identifiers; the second number for options
of one letter, which the search hardly distinguishes."""


def searched_hits(questions: Sequence[str], depth: int, reranked: bool = False) -> int:
    """Return how many hits to search, so that ``hits_with_names`` leaves up to ``depth`` of them.

    They are at least as many as a reader re-ranks if ``reranked``.
    """
    depth = max(depth, RERANKED_PASSAGES if reranked else 0)
    names = set().union(*map(queried_names, questions))
    if any(len(name.lstrip("-")) == 1 for name in names):
        return max(depth, LETTER_TOP_K)
    return max(depth, IDENTIFIER_TOP_K) if names else depth


def hits_to_read(
    questions: Sequence[str], hits: Sequence[Sequence[Hit]], depth: int, reranker: Reader | None = None
) -> list[list[Hit]]:
    """Return the first ``depth`` hits of each question's ``hits_with_names``.

    A ``reranker`` first orders the ``RERANKED_PASSAGES`` that follow the entries (``reader_ranked``), unless all are read.
    """
    split_hits = [_entries_and_others(*pair) for pair in zip(questions, hits, strict=True)]
    if reranker is not None:
        chosen = [0 < depth - len(entries) < min(len(others), RERANKED_PASSAGES) for entries, others in split_hits]
        places = list(compress(range(len(questions)), chosen))
        candidates = [split_hits[place][1][:RERANKED_PASSAGES] for place in places]
        ranked = reader_ranked(reranker, [questions[place] for place in places], candidates)
        for place, best in zip(places, ranked, strict=True):
            split_hits[place] = split_hits[place][0], best
    return [[*entries, *others][:depth] for entries, others in split_hits]


def hits_with_names(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that contain all identifiers of a question, in passage, title or heading; entries on one first."""
    entries, others = _entries_and_others(question, hits)
    return entries + others


def _entries_and_others(question: str, hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits of ``hits_with_names``: those with an entry on an identifier, and the others."""
    named, queried = identifiers(question), queried_names(question)
    texts = [f"{passage_head(hit.passage.title, hit.passage.heading)} {hit.passage.text}" for hit in hits]
    with_names = [hit for hit, text in zip(hits, texts, strict=True) if contains_names(named, text)]
    if not queried:
        return [], with_names
    if any(name.startswith("-") for name in queried):
        with_names = _about_program(named_program(question), with_names)
    entries = queried_entries(question, [entry_text(hit.passage) for hit in with_names])
    described = [hit for hit, hit_entries in zip(with_names, entries, strict=True) if hit_entries]
    rest = [hit for hit, hit_entries in zip(with_names, entries, strict=True) if not hit_entries]
    return described, [hit for hit in rest if contains_options(question, hit.passage.text)]


def _about_program(words: set[str], hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits from documents named like the program whose option is asked for; all hits if there are none."""
    named = [len(words & document_names(hit.passage.document_key)) for hit in hits]
    return [hit for hit, count in zip(hits, named, strict=True) if count == max(named)]
