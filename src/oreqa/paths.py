"""Paths that are not absolute, and the working folder in which they begin."""

from __future__ import annotations

import os
from pathlib import Path

from oreqa.errors import InputError


def need_working_folder(path: str | Path) -> None:
    """Raise InputError for a path that is not absolute if the working folder, in which it would begin, was deleted."""
    try:
        _ = os.path.isabs(path) or os.getcwd()  # noqa: PTH109, PTH117
    except FileNotFoundError:
        raise InputError(f"{path}: the working folder is gone; change to another one, or write the whole path") from None


def full_path(path: Path) -> Path:
    """Return an absolute path without "..", symbolic links unresolved: the form in which document keys name files.

    Raises InputError for a relative one if the working folder was deleted.
    """
    need_working_folder(path)
    return Path(os.path.normpath(path.absolute()))
