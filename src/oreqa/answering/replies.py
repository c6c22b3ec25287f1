"""Converts replies, rankings and explanations to the JSON that ``--json`` prints and the server sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oreqa.answering.expected import ExpectedPlace
from oreqa.answering.explanation import Explanation
from oreqa.answering.reply import Reply
from oreqa.as_json import hit_json
from oreqa.core import Hit, Mode, Unit


def reply_json(question: str, reply: Reply) -> dict[str, Any]:
    """Return a reply as the command line's JSON, preceded by its question."""
    return {"question": question, **reply.to_dict()}


def ranking_json(question: str, hits: Sequence[Hit], mode: Mode, unit: Unit) -> dict[str, Any]:
    """Return the hits of one question as JSON."""
    rows = [hit_json(rank, hit) for rank, hit in enumerate(hits, 1)]
    return {"question": question, "mode": mode, "unit": unit, "hits": rows}


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as the command line's JSON."""
    return {
        "question": explanation.question,
        "stage": explanation.stage,
        "reason": explanation.reason,
        "next_step": explanation.next_step,
        "respelt": dict(explanation.respelt),
        "absent_words": list(explanation.absent_words),
        "unread_words": list(explanation.unread_words),
        "threshold": explanation.threshold,
        "log_odds": {name: round(value, 4) for name, value in explanation.log_odds.items()},
        "expected_place": explanation.expected_place and _place_json(explanation.expected_place),
        "answers": [answer.to_dict() for answer in explanation.answers],
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


def _place_json(place: ExpectedPlace) -> dict[str, Any]:
    return {
        "rank": place.rank,
        "document": place.passage.document_key,
        "address": place.passage.address(place.start),
        "start": place.start,
        "end": place.end,
        "sentence": place.sentence,
        "other_ranks": list(place.other_ranks),
    }
