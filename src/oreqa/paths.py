"""Paths relative to the working directory, the default index, the files of document keys, the cache."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from pathlib import Path

from oreqa.errors import InputError


def need_working_folder(path: str | Path) -> None:
    """Raise InputError for a relative path if the working directory was deleted."""
    try:
        _ = os.path.isabs(path) or os.getcwd()  # noqa: PTH109, PTH117
    except FileNotFoundError:
        raise InputError(f"{path}: the working folder is gone; change to another one, or write the whole path") from None


def full_path(path: Path) -> Path:
    """Return an absolute path without "..", symbolic links unresolved: the form in which document keys name files.

    Raises InputError for a relative path if the working directory was deleted.
    """
    need_working_folder(path)
    return Path(os.path.normpath(path.absolute()))


def new_index() -> Path:
    """Return the index that ``oreqa index`` creates or updates by default: ``$OREQA_INDEX``, else ``.oreqa``."""
    return Path(os.environ.get("OREQA_INDEX") or INDEX_HERE)


def default_index() -> Path | None:
    """Return the default index of other commands: ``new_index``, or None if neither the variable nor the folder exists."""
    index = new_index()
    return index if os.environ.get("OREQA_INDEX") or index.is_dir() else None


def need_index() -> Path:
    """Return the default index. Raises InputError, with the remedies, if there is none."""
    index = default_index()
    if index is None:
        raise InputError("no index is named: set --index, before any --, or OREQA_INDEX, or make one here: oreqa index .")
    return index


def index_option(folder: Path) -> str:
    """Return the index option for a command shown to people: ``" --index kb"``, or empty if it is not needed."""
    try:
        is_default = full_path(folder) == full_path(new_index())
    except InputError:  # the working directory is gone
        is_default = folder == new_index()
    return "" if is_default else f" --index {shlex.quote(str(folder))}"


def is_generation(path: Path) -> bool:
    """Return whether a folder's entry is a generation of an index, as every index has."""
    return bool(_GENERATION.fullmatch(path.name)) and Path(path, "manifest.json").is_file()


def is_index(path: Path) -> bool:
    """Return whether a path is the folder of an index."""
    try:
        return any(map(is_generation, path.iterdir()))
    except OSError:  # a file, or a folder that cannot be read
        return False


def need_questions_file(path: Path, file: str = "questions.json") -> None:
    """Raise InputError, with the command that makes questions from it in a ``file``, if a path is an index."""
    if is_index(path):
        command = f"oreqa generate --index {shlex.quote(str(path))} --out {file}"
        raise InputError(f"{path}: it is an index, not a file of questions; give one, or make it first: {command}")


_GENERATION = re.compile(r"search-\d{6,}")

INDEX_HERE = ".oreqa"
"""The name of a folder's own index."""


def file_of(key: str) -> Path:
    """Return the file of a document by its key.

    A # precedes the name of a row in it, unless it is part of the file's name: the disk is checked.
    """
    if "#" not in key:
        return Path(key)
    ends = [*(end for end, character in enumerate(key) if character == "#"), len(key)]
    return Path(key[: next((end for end in ends if os.path.isfile(key[:end])), ends[0])])  # noqa: PTH113


def cache_folder() -> Path:
    """Return oreqa's cache folder: ``$OREQA_CACHE``, else ``oreqa`` in the user's cache folder. It can be deleted.

    Without a home folder it is a path that cannot be created, and oreqa works without a cache. A missing home folder is not
    created: root could, and nobody would look there.
    """
    if folder := os.environ.get("OREQA_CACHE"):
        return Path(folder)
    if folder := os.environ.get("XDG_CACHE_HOME"):
        return Path(folder) / "oreqa"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (Path.home raises where there is none)
    is_home = os.environ.get("HOME") != "" and home.is_absolute() and home.is_dir()
    return (home / ".cache" if is_home else Path(os.devnull)) / "oreqa"


def has_cache() -> bool:
    """Return whether there is a place for the cache."""
    return Path(os.devnull) not in cache_folder().parents


def partial_file(out: Path) -> Path:
    """Return the file in which an unfinished run stores its work, in the folder of its output."""
    name = f".{out.name}.partial"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(out.name)).hexdigest()[:16]}.partial"
    return out.with_name(name)


_LONGEST_NAME = 255
"""The most bytes in a file's name."""
