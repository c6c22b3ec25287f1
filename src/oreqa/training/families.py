"""What trains each kind of model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oreqa.progress import Progress
from oreqa.training.cross_encoder import train_classifier, train_reranker
from oreqa.training.extractor import train_extractor
from oreqa.training.generator import train_generator
from oreqa.training.openqa import train_openqa
from oreqa.training.reader import train_reader
from oreqa.training.retriever import train_retriever

TRAINERS: Mapping[str, Callable[[Any, Path, Progress], dict[str, Any]]] = {
    "reader": train_reader,
    "reranker": train_reranker,
    "classifier": train_classifier,
    "retriever": train_retriever,
    "openqa": train_openqa,
    "generator": train_generator,
    "extractor": train_extractor,
}
"""What trains each kind of ``recipes.RECIPES``."""
