"""The checkpoints of a run: which of them are intact, and what else is needed to resume."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from oreqa.errors import InputError
from oreqa.files import read_object, remove, write_json
from oreqa.models.checksums import checksum

_CHECKSUMS, _STATE = "checksums.json", "trainer_state.json"


def checkpoints_of(out: Path) -> Path:
    """Return the folder of a run's checkpoints and whatever else it resumes from; it is removed at the end."""
    return out / "checkpoints"


@contextmanager
def name_save_errors(folder: Path, *others: type[Exception]) -> Iterator[None]:
    """Turn a failure to write (an OSError, safetensors' error, or one of ``others``) into a one-line InputError."""
    failures: tuple[type[Exception], ...] = (OSError, SafetensorError, *others)
    try:
        yield
    except failures as error:
        reason = getattr(error, "strerror", None) or "the disk may be full"
        raise InputError(
            f"{folder}: it cannot be written ({reason}): free some space, then run the same command again to continue"
        ) from error


def seal_checkpoint(checkpoint: Path) -> None:
    """Write the checksums of a finished checkpoint's files, and of files next to it, such as clusters."""
    files = [*checkpoint.rglob("*"), *checkpoint.parent.iterdir()]
    sums = {os.path.relpath(file, checkpoint): checksum(file) for file in files if file.is_file()}
    write_json(checkpoint / _CHECKSUMS, sums)


def last_whole_checkpoint(checkpoints: Path) -> Path | None:
    """Return the last intact checkpoint, removing newer ones, which are made again.

    A killed run leaves one half written, and a disk can damage any.
    """
    for _, checkpoint in sorted(_steps(checkpoints).items(), reverse=True):
        if _is_whole(checkpoint) and _best_is_whole(checkpoint):
            _remove_newer(checkpoint)
            return checkpoint
        remove(checkpoint)
    return None


def last_saved_step(checkpoints: Path) -> int:
    """Return the step of the last checkpoint, intact or not; 0 if there is none."""
    return max(_steps(checkpoints), default=0)


def last_finished_step(checkpoints: Path) -> int:
    """Return the step of the last checkpoint that was written to its end; 0 if there is none."""
    return max((step for step, path in _steps(checkpoints).items() if (path / _CHECKSUMS).is_file()), default=0)


def _steps(checkpoints: Path) -> dict[int, Path]:
    steps = ((path.name.rpartition("-")[2], path) for path in checkpoints.glob("checkpoint-*"))
    return {int(step): path for step, path in steps if step.isdecimal()}


def _is_whole(checkpoint: Path) -> bool:
    """Return whether its files match their checksums. Earlier versions wrote none: there, the state was written last."""
    if not (checkpoint / _CHECKSUMS).exists():
        return bool(read_object(checkpoint / _STATE))
    sums = read_object(checkpoint / _CHECKSUMS)
    files = {name: checkpoint / name for name in sums}
    return _STATE in sums and all(file.is_file() and checksum(file) == sums[name] for name, file in files.items())


def _best_is_whole(checkpoint: Path) -> bool:
    """Return whether the best checkpoint so far, if there is a dev set, is intact: it is loaded at the end."""
    best = read_object(checkpoint / _STATE).get("best_global_step")
    return best is None or _is_whole(checkpoint.with_name(f"checkpoint-{best}"))


def _remove_newer(checkpoint: Path) -> None:
    sums = read_object(checkpoint / _CHECKSUMS)
    for file in checkpoint.parent.iterdir() if sums else ():
        if not file.is_dir() and os.path.relpath(file, checkpoint) not in sums:
            file.unlink()
