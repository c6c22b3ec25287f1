"""What is used where nothing else is named; read by the library, and by the help texts without loading it."""

from __future__ import annotations

BASE_ENCODER = "all-minilm-l6-v2"
"""What trained models begin from, and packaged ones are stored as a difference from."""

DEFAULT_ENCODER = "minilm-retriever"
"""Trained on questions of six sets."""

DEFAULT_READER = "minilm-reader"
DEFAULT_CLASSIFIER = "minilm-classifier"
DEFAULT_GENERATOR = "minilm-generator"

PASSAGE_TOKENS = 256
LANGUAGE = "en"
FACTORY = "Flat"
"""Of a new index: the longest passage in tokens, the language of its documents, and how FAISS keeps its vectors."""
