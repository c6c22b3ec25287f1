"""The retrieval scores by name.

A new score is a file in this folder that defines a ``RetrievalScore``, and an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from oreqa.index.scores.bm25 import bm25_score
from oreqa.index.scores.cosine import cosine_score
from oreqa.index.scores.questions import RetrievalScore

SCORES: Mapping[str, RetrievalScore] = MappingProxyType(
    {
        "sentence_cosine": cosine_score("sentence"),
        "passage_cosine": cosine_score("passage"),
        "sentence_bm25": bm25_score("sentence"),
        "passage_bm25": bm25_score("passage"),
    }
)
"""A search adds them up with the weights fitted for the index's encoder, or with their plain weights."""
