"""Chooses the hits that are read: those with the question's identifiers, the best by the search or by a smaller reader."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from oreqa.answering.definitions import entry_text
from oreqa.answering.reranking import reader_ranked
from oreqa.core import Hit
from oreqa.corpus.splitter import passage_head
from oreqa.models.reader.reader import Reader
from oreqa.text.asked_entries import asked_entries
from oreqa.text.asking import asked_names, document_names, holds_options, named_program
from oreqa.text.names import holds_names, identifiers

RERANKED_PASSAGES = 10
"""How many of the best passages a smaller reader re-ranks."""

IDENTIFIER_TOP_K, LETTER_TOP_K = 100, 200
"""How many passages or sentences are searched for those that contain a question's identifiers; the second number for options
of one letter, which the search hardly distinguishes."""


def searched_hits(questions: Sequence[str], depth: int, reranked: bool = False) -> int:
    """Return how many hits to search so that ``holding_names`` leaves ``depth`` of them if there are that many, or enough to
    be ``reranked`` by a reader."""
    depth = max(depth, RERANKED_PASSAGES if reranked else 0)
    asked = set().union(*map(asked_names, questions))
    if any(len(name.lstrip("-")) == 1 for name in asked):
        return max(depth, LETTER_TOP_K)
    return max(depth, IDENTIFIER_TOP_K) if asked else depth


def hits_to_read(
    questions: Sequence[str], hits: Sequence[Sequence[Hit]], depth: int, reranker: Reader | None = None
) -> list[list[Hit]]:
    """Return the first ``depth`` hits of each question's ``holding_names``.

    A ``reranker`` first orders the ``RERANKED_PASSAGES`` that follow the entries (``reader_ranked``), unless all are read.
    """
    holding = [_entries_and_others(*of_question) for of_question in zip(questions, hits, strict=True)]
    if reranker is not None:
        chosen = [0 < depth - len(entries) < min(len(others), RERANKED_PASSAGES) for entries, others in holding]
        places = list(compress(range(len(questions)), chosen))
        candidates = [holding[place][1][:RERANKED_PASSAGES] for place in places]
        ranked = reader_ranked(reranker, [questions[place] for place in places], candidates)
        for place, best in zip(places, ranked, strict=True):
            holding[place] = holding[place][0], best
    return [[*entries, *others][:depth] for entries, others in holding]


def holding_names(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that contain all identifiers of a question, in passage, title or heading; entries on one first."""
    entries, others = _entries_and_others(question, hits)
    return entries + others


def _entries_and_others(question: str, hits: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits of ``holding_names``: those with an entry on an identifier, and the others."""
    named, asked = identifiers(question), asked_names(question)
    texts = [f"{passage_head(hit.passage.title, hit.passage.heading)} {hit.passage.text}" for hit in hits]
    holding = [hit for hit, text in zip(hits, texts, strict=True) if holds_names(named, text)]
    if not asked:
        return [], holding
    if any(name.startswith("-") for name in asked):
        holding = _of_program(named_program(question), holding)
    entries = asked_entries(question, [entry_text(hit.passage) for hit in holding])
    described = [hit for hit, of_hit in zip(holding, entries, strict=True) if of_hit]
    return described, [
        hit for hit, of_hit in zip(holding, entries, strict=True) if not of_hit and holds_options(question, hit.passage.text)
    ]


def _of_program(words: set[str], hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits from documents named like the program whose option is asked for; all hits if there are none."""
    named = [len(words & document_names(hit.passage.document_key)) for hit in hits]
    return [hit for hit, count in zip(hits, named, strict=True) if count == max(named)]
