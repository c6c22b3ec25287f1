"""Paths to the files to read: recursive, with globs and ignore rules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pathspec

from oreqa.corpus.readers import known
from oreqa.errors import InputError

IGNORE_FILE = ".oreqaignore"
"""A file of this name in a folder lists, as a .gitignore does, what below it is not to be indexed."""

_ALWAYS_IGNORED = (".*", "node_modules/", "__pycache__/")


@dataclass(frozen=True, slots=True)
class Found:
    """The files to read, sorted, and how many others were passed over because no reader knows their kind."""

    files: tuple[Path, ...]
    unknown: int


def find_files(paths: Sequence[Path], include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Found:
    """Every readable file below ``paths``, once, as absolute paths.

    ``include`` and ``exclude`` are patterns as in .gitignore, matched below each folder. Hidden files are left out, and
    what a folder's .oreqaignore lists. A file named outright is always taken. Raises InputError if a path does not exist.
    """
    files: dict[Path, None] = {}
    unknown = 0
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: there is no such file or folder")
        root = path.absolute()
        if not root.is_dir():
            files[Path(os.path.normpath(root))] = None
            continue
        for file in _walk(Path(os.path.normpath(root)), include, exclude):
            if known(file):
                files[file] = None
            else:
                unknown += 1
    return Found(tuple(sorted(files)), unknown)


def _walk(root: Path, include: Sequence[str], exclude: Sequence[str]) -> Iterator[Path]:
    wanted = _spec(include) if include else None
    ignored = _spec([*_ALWAYS_IGNORED, *exclude])
    local: dict[Path, pathspec.GitIgnoreSpec] = {}

    def skip(path: Path, suffix: str = "") -> bool:
        if ignored.match_file(path.relative_to(root).as_posix() + suffix):
            return True
        return any(
            spec.match_file(path.relative_to(base).as_posix() + suffix)
            for base, spec in local.items()
            if path.is_relative_to(base)
        )

    for folder, names, files in os.walk(root):
        here = Path(folder)
        if IGNORE_FILE in files:
            local[here] = _spec(_lines(here / IGNORE_FILE))
        names[:] = sorted(name for name in names if not skip(here / name, "/"))
        for name in sorted(files):
            path = here / name
            chosen = wanted is None or wanted.match_file(path.relative_to(root).as_posix())
            if chosen and path.is_file() and not skip(path):
                yield path


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it cannot be read ({error}); save it as UTF-8 or remove it") from error


def _spec(patterns: Sequence[str]) -> pathspec.GitIgnoreSpec:
    try:
        return pathspec.GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise InputError(f"a pattern cannot be understood: {error}") from error
