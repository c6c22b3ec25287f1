"""Trains any kind of model: from a recipe file to a model folder."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from oreqa.arguments import as_path, as_paths, choice, text_list
from oreqa.errors import InputError
from oreqa.progress import Progress, no_progress
from oreqa.training.cross_encoder.recipe import ClassifierRecipe, RerankerRecipe
from oreqa.training.extractor.recipe import ExtractorRecipe
from oreqa.training.generator.recipe import GeneratorRecipe
from oreqa.training.openqa.recipe import OpenQARecipe
from oreqa.training.reader.recipe import ReaderRecipe
from oreqa.training.recipes import Recipe, load_recipe
from oreqa.training.retriever.recipe import RetrieverRecipe

RECIPES: Mapping[str, type[Recipe]] = {
    "reader": ReaderRecipe,
    "reranker": RerankerRecipe,
    "classifier": ClassifierRecipe,
    "retriever": RetrieverRecipe,
    "openqa": OpenQARecipe,
    "generator": GeneratorRecipe,
    "extractor": ExtractorRecipe,
}
"""The recipe of each kind of model; ``train_KIND`` in the module ``train`` next to the recipe trains it."""


RETRIEVER_RECIPE = Path("recipes/small/retriever.toml")
"""The recipe for users' own pairs, sized for two CPU cores."""


def train_model(
    kind: str,
    recipe: str | Path | None,
    out: str | Path,
    settings: str | Iterable[str] = (),
    progress: Progress = no_progress,
    *,
    data: str | Path | Iterable[str | Path] = (),
) -> dict[str, Any]:
    """Train a model of a ``kind`` (a name in ``RECIPES``) from a recipe file; ``settings`` as ``name=value`` change it.

    For a retriever, ``data`` replaces the recipe's data, and the recipe may be None, which means ``RETRIEVER_RECIPE``.

    Returns the content of ``out/run.json``. Raises InputError for an unknown kind, a recipe or data that cannot be used, and
    if ``out`` is a file or already has a finished model.
    """
    choice(kind, RECIPES, "kind of model")
    folder = as_path(out, "out")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: it is a file; name a folder for the model")
    changes = text_list(settings, "settings")
    if data:
        if kind != "retriever":
            raise InputError(f"data is for a retriever: name what a {kind} learns from in its recipe, or in settings")
        files = json.dumps([str(path) for path in as_paths(data)], ensure_ascii=False)
        files = files.replace("\x7f", r"\u007f")  # a list of strings in TOML, too
        changes = ["data_root=.", f"data={files}", *changes]
    if recipe is None and not data:
        raise InputError("name a recipe, or for a retriever the data, pairs of questions and passages")
    content = load_recipe(RECIPES[kind], RETRIEVER_RECIPE if recipe is None else recipe, changes)
    from oreqa.training.records import train_recorded  # after the recipe's errors: torch takes seconds to import

    return train_recorded(trainer_of(kind), content, folder, progress)


def trainer_of(kind: str) -> Any:
    """Return the function that trains a kind of model, importing torch."""
    package = RECIPES[kind].__module__.removesuffix(".recipe")
    return resolve_name(f"{package}.train:train_{kind}")


_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # malloc.h


def keep_freed_memory() -> None:
    """Make the C library keep freed tensor memory for the rest of the process.

    glibc returns large blocks to the kernel and gets them back zeroed at every step, which slows training on a CPU. Only for
    commands: a library must not change its caller's allocator. Does nothing with another C library.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        for parameter, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_TOP_PAD, 1 << 28)):
            mallopt(parameter, value)
