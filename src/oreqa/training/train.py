"""Training by the kind of model: from a recipe's file to a model's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from oreqa.arguments import as_path, choice
from oreqa.errors import InputError
from oreqa.progress import Progress, no_progress
from oreqa.training.cross_encoder import train_classifier, train_reranker
from oreqa.training.extractor import train_extractor
from oreqa.training.generator import train_generator
from oreqa.training.openqa import train_openqa
from oreqa.training.reader import train_reader
from oreqa.training.recipe_files import load_recipe
from oreqa.training.recipes import RECIPES
from oreqa.training.records import train_recorded
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


def train_model(
    kind: str, recipe: str | Path, out: str | Path, settings: str | Iterable[str] = (), progress: Progress = no_progress
) -> dict[str, Any]:
    """Train a model of a ``kind`` (a name in ``RECIPES``) by a recipe's file; ``settings`` as ``name=value`` change it.

    Returns what ``out/run.json`` holds. Raises InputError for an unknown kind, a recipe or data that cannot be used, and if
    ``out`` is a file or holds a finished model already.
    """
    choice(kind, RECIPES, "kind of model")
    folder = as_path(out, "out")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; name a folder for the model")
    return train_recorded(TRAINERS[kind], load_recipe(RECIPES[kind], recipe, settings), folder, progress)
