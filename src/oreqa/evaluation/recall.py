"""``oreqa eval recall``: which share of the exact nearest neighbours an index's FAISS search finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arguments import text_list
from oreqa.core import UNITS
from oreqa.errors import InputError
from oreqa.index.search import Index

SAMPLE = 200
"""Sentences of the index that stand in for questions where none are named."""


def evaluate_recall(
    index: str | Path, *, questions: str | Iterable[str] | None = None, k: int = 10, device: str = "cpu"
) -> dict[str, Any]:
    """Compare an index's FAISS search with exact search, for ``questions`` or 200 of its own sentences.

    Returns the FAISS ``factory``, ``k``, the number of ``questions``, and ``recall`` in percent by unit. Raises InputError
    if there is nothing to search with, IndexStateError if the index cannot be searched.
    """
    asked = None if questions is None else text_list(questions, "questions")
    opened = Index.open(index, device)
    texts = sample_sentences(opened, SAMPLE) if asked is None else asked
    if not texts:
        raise InputError(f"{index}: there is nothing to search with")
    shares = {unit: round(100 * share, 2) for unit, share in index_recall(opened, texts, k).items()}
    return {"factory": opened.settings.factory, "k": k, "questions": len(texts), "recall": shares}


def index_recall(index: Index, questions: Sequence[str], k: int) -> dict[str, float]:
    """Share of the exact ``k`` nearest sentences and passages that the FAISS index finds, as fractions by unit."""
    vectors = index.encoder.encode(questions)
    shares = {}
    for unit in UNITS:
        near, exact = (index.nearest(vectors, k, unit, exact=exact) for exact in (False, True))
        if exact.size:
            common = [len(np.intersect1d(a, b)) for a, b in zip(near, exact, strict=True)]
            shares[str(unit)] = sum(common) / exact.size
    return shares


def sample_sentences(index: Index, count: int) -> list[str]:
    """Texts of ``count`` sentences, evenly spread over the index."""
    total = index.counts()["sentences"]
    return index.sentences(np.unique(np.linspace(0, total - 1, count).astype(int)).tolist()) if total else []
