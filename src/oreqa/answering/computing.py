"""Computes answers from all rows of a table (count, highest, lowest), and the latest release from a change log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from oreqa.answer import Answer, Computation
from oreqa.answering.releases import asks_for_latest, latest_release
from oreqa.answering.table_questions import Result, computed
from oreqa.arguments import Conditions
from oreqa.arrays import Floats
from oreqa.core import Hit, Sentence
from oreqa.index.snapshot import Snapshot
from oreqa.index.tables import MAX_PASSAGES, WholeTable, tables_around
from oreqa.models.encoder.encoder import Encoder
from oreqa.text.comparing import asks_to_compute

MIN_RELATED = 0.25
"""The lowest cosine that relates a word of the question to the names of a table's file and columns."""


def computed_answers(
    question: str, hits: Sequence[Hit], snapshot: Snapshot, where: Conditions, encoder: Encoder
) -> list[Answer]:
    """Return the answers computed from a table or change log in ``hits``, all of a tie; none if two tables differ."""
    if asks_for_latest(question):
        documents = dict.fromkeys(snapshot.source_of(hit.passage_id)[2] for hit in hits)
        passages = (snapshot.passages_of(document, where, MAX_PASSAGES) for document in documents)
        releases = [answer for document_passages in passages if (answer := latest_release(question, document_passages))]
        if len({answer.text for answer in releases}) == 1:
            return releases[:1]
    if not asks_to_compute(question):
        return []
    tables = tables_around(snapshot, [hit.passage_id for hit in hits], where)
    results = [result for table in tables if (result := computed(question, table, _relates(encoder, table)))]
    return _answers(results[0]) if len(set(map(_said, results))) == 1 else []


def _said(result: Result) -> tuple[str, ...]:
    return (str(len(result.rows)),) if not result.column else tuple(row.cell(result.column) for row in result.rows)


def _relates(encoder: Encoder, table: WholeTable) -> Callable[[str], bool]:
    @lru_cache
    def about() -> Floats:
        return encoder.encode(f"{table.head} {' '.join(table.columns)}")

    return lambda word: float(encoder.encode(word) @ about()) >= MIN_RELATED


def _answers(result: Result) -> list[Answer]:
    rows = tuple((row.passage, Sentence(row.text, row.start, row.end)) for row in result.rows)
    computation = Computation(result.operation, result.compared, rows, result.looked_at)
    places = [row.cells[result.column] if result.column else (row.start, row.end) for row in result.rows]
    texts = [row.cell(result.column) if result.column else str(len(rows)) for row in result.rows]
    return [
        Answer(text, *place, None, sentence, passage, 0.0, {}, form="computed", computation=computation)
        for text, place, (passage, sentence) in zip(texts, places, rows, strict=True)
    ][: None if result.column else 1]
