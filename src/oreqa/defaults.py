"""Default models and settings, which help texts read without loading the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

BASE_ENCODER = "all-minilm-l6-v2"
"""The model that training starts from; packaged models are stored as differences from it."""

LARGE_ENCODER = "all-mpnet-base-v2"
"""A larger model to start from, which does not come with oreqa: ``oreqa models get`` downloads it."""

DEFAULT_ENCODER = "minilm-retriever"
"""Trained on the questions of six datasets."""

DEFAULT_READER = "minilm-reader"
DEFAULT_CLASSIFIER = "minilm-classifier"
DEFAULT_GENERATOR = "minilm-generator"

RERANKED_HITS = 20
"""How many of the best hits a classifier re-ranks by default."""

BEST_READER = "mpnet-reader"
"""Stored as a difference from the large encoder, which it needs."""

SHIPPED = (DEFAULT_ENCODER, DEFAULT_READER, DEFAULT_CLASSIFIER, DEFAULT_GENERATOR, BEST_READER)
"""The models that come with oreqa as differences from the base encoder, which also comes with it, or from the large one."""

ENGLISH = (BASE_ENCODER, LARGE_ENCODER, *SHIPPED)
"""Models trained on English texts."""

Quality = Literal["fast", "best"]
QUALITIES: tuple[Quality, ...] = get_args(Quality)
QUALITY_READERS: Mapping[str, str] = {"fast": DEFAULT_READER, "best": BEST_READER}
"""The reader for each quality of answers."""

PASSAGE_TOKENS = 256
LANGUAGE = "en"
"""The defaults of a new index: the longest passage in tokens, and the language of its documents."""

BATCH_PASSAGES = 128
"""Passages that an update encodes and saves together: the most that an interruption can lose."""
