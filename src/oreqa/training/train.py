"""Training by the kind of model: from a recipe's file to a model's folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oreqa.arguments import as_path, choice
from oreqa.errors import InputError
from oreqa.progress import Progress, no_progress
from oreqa.training.recipe_files import load_recipe
from oreqa.training.recipes import RECIPES


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
    content = load_recipe(RECIPES[kind], recipe, settings)
    from oreqa.training.families import TRAINERS  # after the recipe's errors: torch takes seconds to import
    from oreqa.training.records import train_recorded

    return train_recorded(TRAINERS[kind], content, folder, progress)
