"""Paths that begin in the working folder, the index where none is named, files by the keys of documents, the cache."""

from __future__ import annotations

import hashlib
import os
import shlex
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


def new_index() -> Path:
    """Return the index that ``oreqa index`` makes or refreshes where none is named: ``$OREQA_INDEX``, else ``.oreqa``."""
    return Path(os.environ.get("OREQA_INDEX") or INDEX_HERE)


def default_index() -> Path | None:
    """Return the index that other commands use where none is named: that of ``new_index``; None without the variable and
    the folder."""
    index = new_index()
    return index if os.environ.get("OREQA_INDEX") or index.is_dir() else None


def need_index() -> Path:
    """Return the index that is used where none is named. Raises InputError, with the ways out, if there is none."""
    index = default_index()
    if index is None:
        raise InputError("no index is named: set --index, before any --, or OREQA_INDEX, or make one here: oreqa index .")
    return index


def index_option(folder: Path) -> str:
    """Return how a command that is shown to people names an index: ``" --index kb"``, empty where it need not."""
    try:
        is_default = full_path(folder) == full_path(new_index())
    except InputError:  # the working folder is gone
        is_default = folder == new_index()
    return "" if is_default else f" --index {shlex.quote(str(folder))}"


INDEX_HERE = ".oreqa"
"""Folder of a folder's own index."""


def file_of(key: str) -> Path:
    """Return the file of a document by its key. A # stands before the name of a row in it, if it is not part of the file's
    name: the disk is asked."""
    if "#" not in key:
        return Path(key)
    ends = [*(end for end, character in enumerate(key) if character == "#"), len(key)]
    return Path(key[: next((end for end in ends if os.path.isfile(key[:end])), ends[0])])  # noqa: PTH113


def cache_folder() -> Path:
    """Return oreqa's cache folder: ``$OREQA_CACHE``, else ``oreqa`` in the user's cache folder. It can be deleted.

    Without a home it is a path that cannot be created; oreqa then works without a cache. A home that is not there is not
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
    """Whether there is a place for the cache."""
    return Path(os.devnull) not in cache_folder().parents


def partial_file(out: Path) -> Path:
    """The file in which an unfinished run keeps what is done, in the folder of the one that it will write."""
    name = f".{out.name}.partial"
    if len(os.fsencode(name)) > _LONGEST_NAME:
        name = f".{hashlib.sha256(os.fsencode(out.name)).hexdigest()[:16]}.partial"
    return out.with_name(name)


_LONGEST_NAME = 255
"""Bytes of a file's name, at most."""
