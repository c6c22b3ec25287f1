"""Replies, answers, hits and explanations as JSON: what ``--json`` prints and the server sends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from oreqa.answer import Answer, AnswerBlock, Computation
from oreqa.answering.explanation import Explanation
from oreqa.answering.reply import Reply
from oreqa.core import Hit, Mode, Passage, Unit
from oreqa.index.store import document_id

_PAGE = re.compile(r"page (\d+)")


def reply_json(question: str, reply: Reply) -> dict[str, Any]:
    """A reply as the JSON of the command line: answers, or the best guess and the nearest passages."""
    row = {
        "question": question,
        "found": bool(reply.answers),
        "calibrated": reply.calibrated,
        "answers": [answer_json(answer) for answer in reply.answers],
        "respelt": dict(reply.respelt),
    }
    if reply.guess is not None:
        row["guess"] = answer_json(reply.guess)
    return row if reply.answers else {**row, "nearest": [hit_json(rank, hit) for rank, hit in enumerate(reply.nearest, 1)]}


def ranking_json(question: str, hits: Sequence[Hit], mode: Mode, unit: Unit) -> dict[str, Any]:
    """The hits of one question as JSON."""
    rows = [hit_json(rank, hit) for rank, hit in enumerate(hits, 1)]
    return {"question": question, "mode": mode, "unit": unit, "hits": rows}


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as the JSON of the command line: offsets are characters of the document's text."""
    passage = answer.passage
    return {
        "text": answer.text,
        "start": answer.start,
        "end": answer.end,
        "confidence": None if answer.confidence is None else round(answer.confidence, 4),
        "certainty": answer.certainty,
        "score": round(answer.score, 4),
        "document": passage.document_key,
        "title": passage.title,
        "heading": passage.heading,
        "place": place_json(passage, answer.start, answer.end),
        "sentence": {"text": answer.sentence.text, "start": answer.sentence.start, "end": answer.sentence.end},
        "passage": {"text": passage.text, "start": passage.start, "end": passage.end},
        "form": answer.form,
        "block": None if answer.block is None else block_json(answer.block),
        "computation": None if answer.computation is None else computation_json(answer.computation),
        "newer": answer.newer or None,
        "contradicted_by": answer.contradicted_by or None,
        "fields": dict(passage.fields),
        "scores": {name: round(value, 4) for name, value in answer.scores.items()},
    }


def block_json(block: AnswerBlock) -> dict[str, Any]:
    """What answers as a whole as JSON; ``cut`` says that text was left out before a piece."""
    pieces = [{"text": piece.text, "start": piece.start, "end": piece.end, "cut": piece.cut} for piece in block.pieces]
    return {"kind": block.kind, "probability": round(block.probability, 4), "pieces": pieces}


def computation_json(computation: Computation) -> dict[str, Any]:
    """How an answer was computed as JSON, with the rows that prove it."""
    rows = [
        {"text": row.text, "start": row.start, "end": row.end, "document": passage.document_key}
        for passage, row in computation.rows
    ]
    return {
        "operation": computation.operation,
        "column": computation.column or None,
        "rows": rows,
        "looked_at": computation.looked_at,
    }


def hit_json(rank: int, hit: Hit) -> dict[str, Any]:
    """A hit as JSON; the place is the sentence's."""
    passage, sentence = hit.passage, hit.sentence
    return {
        "rank": rank,
        "score": round(hit.score, 4),
        "scores": {name: round(value, 4) for name, value in hit.scores.items()},
        "document": passage.document_key,
        "title": passage.title,
        "heading": passage.heading,
        "place": place_json(passage, sentence.start, sentence.end),
        "sentence": {"text": sentence.text, "start": sentence.start, "end": sentence.end},
        "passage": {"text": passage.text, "start": passage.start, "end": passage.end},
        "fields": dict(passage.fields),
    }


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """An explanation as the JSON of the command line."""
    return {
        "question": explanation.question,
        "stage": explanation.stage,
        "reason": explanation.reason,
        "respelt": dict(explanation.respelt),
        "absent_words": list(explanation.absent_words),
        "unread_words": list(explanation.unread_words),
        "threshold": explanation.threshold,
        "log_odds": {name: round(value, 4) for name, value in explanation.log_odds.items()},
        "answers": [answer_json(answer) for answer in explanation.answers],
        "hits": [
            {
                **hit_json(hit.rank, hit.hit),
                "ranks": dict(hit.ranks),
                "was_read": hit.was_read,
                "lacks_names": hit.lacks_names,
                "holds_expected": hit.holds_expected,
                "answer": hit.answer and hit.answer.text,
            }
            for hit in explanation.hits
        ],
    }


def place_json(passage: Passage, start: int, end: int) -> dict[str, Any]:
    """The place of a stretch as JSON, null where something is not known; ``source`` holds characters of the file.

    ``page`` is the number of the page where it begins, ``document_id`` names the document.
    """
    first, last = passage.place(start), passage.place(max(start, end - 1))
    source = None
    if first and last and first.source is not None and last.source is not None:
        source = {"start": first.source, "end": last.source + (end > start)}
    page = _PAGE.fullmatch(first.name) if first else None
    return {
        "name": first.name or None if first else None,
        "page": int(page[1]) if page else None,
        "line": first.line if first else None,
        "source": source,
        "document_id": document_id(passage.document_key),
    }
