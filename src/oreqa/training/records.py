"""run.json: what a trained model was made of."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from oreqa.errors import InputError
from oreqa.files import write_json
from oreqa.progress import Progress, no_progress
from oreqa.provenance import data_hash, versions
from oreqa.training.recipes import Recipe

R = TypeVar("R", bound=Recipe)


def train_recorded(
    train: Callable[[R, Path, Progress], dict[str, Any]],
    recipe: R,
    out: Path,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Train into ``out`` and write run.json, last: recipe, data hashes, versions, losses and wall time.

    Raises InputError if a data file is missing or the folder holds a finished model already.
    """
    for file in recipe.files:
        if not file.exists():  # a BEIR folder is data, too
            raise InputError(f"{file}: there is no such file; set data_root to the folder of the recipe's files")
    if (out / "run.json").is_file():
        raise InputError(f"{out}: it holds a trained model already; choose another folder, or remove it")
    hashes = {str(file): data_hash([file]) for file in recipe.files}
    record = train(recipe, out, progress)
    record = {"recipe": recipe.model_dump(mode="json"), "data_sha256": hashes, **record, "versions": versions()}
    if os.environ.get("RANK", "0") == "0":  # of the processes under torchrun, the one that saves the model
        write_json(out / "run.json", record)
    return record
