"""run.json: the record of how a model was trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from oreqa.errors import InputError
from oreqa.files import remove, write_json
from oreqa.models.names import read_json_file
from oreqa.models.stored import find_by_name, pinned_name
from oreqa.progress import Progress, no_progress
from oreqa.provenance import code_of_result, data_hash
from oreqa.training.checkpoints import checkpoints_of
from oreqa.training.recipes import Recipe

R = TypeVar("R", bound=Recipe)

TRAINING_STARTED = "started.json"
"""The settings of an unfinished run, stored next to its checkpoints."""

CONTENT = "the content of its files"


def train_recorded(
    train: Callable[[R, Path, Progress], dict[str, Any]],
    recipe: R,
    out: Path,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Train into ``out`` and write run.json, last: recipe, data hashes, losses, wall time, commit and versions.

    Raises InputError if a data file is missing, if the folder already has a finished model, or the checkpoints of an
    interrupted run with other settings or data.
    """
    for file in recipe.files:
        if not file.exists():  # a BEIR folder is data, too
            raise InputError(f"{file}: there is no such file; set data_root to the folder of the recipe's files")
    if (out / "run.json").is_file():
        raise InputError(f"{out}: it holds a trained model already; choose another folder, or remove it")
    recipe = _pinned(recipe, progress)
    hashes = {str(file): data_hash([file]) for file in recipe.files}
    started = {"recipe": recipe.model_dump(mode="json"), "data_sha256": hashes}
    _check_same_run(out, started)
    if os.environ.get("RANK", "0") != "0":  # under torchrun, the first process saves the model and its record
        return {**started, **train(recipe, out, progress), **code_of_result()}
    with _kept_with_checkpoints(out, started):
        record = {**started, **train(recipe, out, progress), **code_of_result()}
    write_json(out / "run.json", record)
    return record


def _pinned(recipe: R, progress: Progress) -> R:
    """Return the recipe with pinned commits of its Hub models, which are downloaded."""
    names = {key: getattr(recipe, key, None) for key in ("backbone", "retriever", "reader")}
    here = {key: name for key, name in names.items() if isinstance(name, str) and not Path(name).is_dir()}
    for name in here.values():
        find_by_name(name, progress)
    return recipe.model_copy(update={key: pinned_name(name) for key, name in here.items()})


@contextmanager
def _kept_with_checkpoints(out: Path, started: dict[str, Any]) -> Iterator[None]:
    """Store a run's settings while it runs, and afterwards if it leaves checkpoints."""
    is_new = not out.exists()
    if not (out / TRAINING_STARTED).is_file():
        remove(out / TRAINING_STARTED)  # writing into a FIFO would block forever
    write_json(out / TRAINING_STARTED, started)
    try:
        yield
    finally:
        if not _has_checkpoints(out):
            (out / TRAINING_STARTED).unlink(missing_ok=True)
            if is_new and not any(out.iterdir()):
                out.rmdir()


def _has_checkpoints(out: Path) -> bool:
    return any(checkpoints_of(out).glob("checkpoint-*"))


def _check_same_run(out: Path, started: dict[str, Any]) -> None:
    """Raise InputError if checkpoints in ``out`` belong to another recipe or other data: their steps would be mixed."""
    if not (out / TRAINING_STARTED).is_file() or not _has_checkpoints(out):
        return
    before, now = _flat(read_json_file(out / TRAINING_STARTED)), _flat(started)
    if changed := [key for key in {**before, **now} if before.get(key) != now.get(key)]:
        shown = (
            key if key == CONTENT else f"{key} (it has {before.get(key)!r}, not {now.get(key)!r})" for key in changed[:5]
        )
        raise InputError(
            f"{out}: it holds an interrupted run that differs in {', '.join(shown)}; "
            f"train as it began, choose another folder, or remove {checkpoints_of(out)}"
        )


def _flat(started: dict[str, Any]) -> dict[str, Any]:
    """Return every setting that determines the model, by key, and the hashes of the data.

    Files may have moved to another ``data_root``. Some are missing from a damaged record.
    """
    settings = started.get("recipe", {})
    recipe = {key: value for key, value in settings.items() if key not in ("data_root", "optimiser")}
    ignored = () if recipe.get("dev") else ("checkpoint_steps",)  # with dev, the kept model is that of one of these steps
    optimiser = {f"optimiser.{key}": v for key, v in settings.get("optimiser", {}).items() if key not in ignored}
    return {**recipe, **optimiser, CONTENT: list(started.get("data_sha256", {}).values())}
