"""Hits and places as JSON: what ``--json`` prints, the server sends and ``to_dict`` returns."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from oreqa.core import Hit, Passage, Sentence

_PAGE = re.compile(r"page (\d+)")


def document_id(key: str) -> str:
    """Return a document's id for where its key must not be shown, as in URLs: 16 hex digits of the key's SHA-256.

    Examples:
        >>> document_id("octopus.md")
        '865c35c7be9db942'
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def hit_json(rank: int, hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON; the place is the sentence's."""
    passage, sentence = hit.passage, hit.sentence
    return {
        "rank": rank,
        "score": round(hit.score, 4),
        "scores": scores_json(hit.scores),
        "document": passage.document_key,
        "title": passage.title,
        "heading": passage.heading,
        "place": place_json(passage, sentence.start, sentence.end),
        "sentence": stretch_json(sentence),
        "passage": stretch_json(passage),
        "fields": dict(passage.fields),
    }


def scores_json(scores: Mapping[str, float]) -> dict[str, float]:
    """Return scores by name, with four decimals."""
    return {name: round(value, 4) for name, value in scores.items()}


def stretch_json(stretch: Sentence | Passage) -> dict[str, Any]:
    """Return a sentence or passage as JSON, with its offsets."""
    return {"text": stretch.text, "start": stretch.start, "end": stretch.end}


def place_json(passage: Passage, start: int, end: int) -> dict[str, Any]:
    """Return the place of a range as JSON, with null for unknown values; ``source`` has characters of the file.

    ``page`` is the number of the page on which it begins, ``document_id`` identifies the document.
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
